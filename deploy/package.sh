#!/usr/bin/env bash
# Packs the command `emend` for machines like this one: the program, completions for three shells, and manual pages.
#   deploy/package.sh [FOLDER]    writes FOLDER/emend-VERSION-MACHINE.tar.gz, to be unpacked into /usr/local
#   EMEND=PROGRAM                 packs this program in place of building one
set -euo pipefail
root=$(cd -P "$(dirname "$0")/.." && pwd)
out=${1:-dist}
program=${EMEND:-}
if [ -z "$program" ]; then
    (cd "$root" && cargo build --profile dist --locked --package emend-cli)
    program=${CARGO_TARGET_DIR:-$root/target}/dist/emend
fi
version=$("$program" --version)
name=emend-${version##* }-$(uname -m)-$(uname -s | tr '[:upper:]' '[:lower:]')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

share=$work/$name/share
mkdir -p "$share"/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d,man/man1,doc/emend} "$out"
install -D -m 755 "$program" "$work/$name/bin/emend"
"$program" completions bash >"$share/bash-completion/completions/emend"
"$program" completions zsh >"$share/zsh/site-functions/_emend"
"$program" completions fish >"$share/fish/vendor_completions.d/emend.fish"
"$program" man "$share/man/man1" 2>/dev/null
install -m 644 "$root/LICENSE" "$root/README.md" "$share/doc/emend"
tar --create --gzip --owner=0 --group=0 --file "$out/$name.tar.gz" --directory "$work" "$name"
echo "$out/$name.tar.gz"

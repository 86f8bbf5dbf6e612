# Makes the stubs in gen; proto is a copy of this repository's folder of that name. Needs buf, and `npm ci` before.
# region generate
template=proto/buf.gen.typescript.yaml
buf generate proto --template $template --output gen
# Google's messages of errors, and health: their files come with these packages.
rpc=node_modules/google-proto-files
buf generate $rpc --path $rpc/google/rpc/status.proto --path $rpc/google/rpc/error_details.proto \
    --template $template --output gen
buf generate node_modules/grpc-health-check/proto --template $template --output gen
# endregion

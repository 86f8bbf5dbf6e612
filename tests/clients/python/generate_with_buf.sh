# Makes the stubs in gen; proto is a copy of this repository's folder of that name. Needs buf, and grpcio-tools.
# region generate
buf generate proto --template proto/buf.gen.python.yaml --output gen
# endregion

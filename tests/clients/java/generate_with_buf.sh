# Makes the stubs in gen; proto is a copy of this repository's folder of that name.
# Needs buf, protoc and protoc-gen-grpc-java.
# region generate
buf generate proto --template proto/buf.gen.java.yaml --output gen
# endregion

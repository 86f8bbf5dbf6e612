# Makes the stubs in gen; proto is a copy of this repository's folder of that name.
# region generate
mkdir -p gen
python -m grpc_tools.protoc -I proto --python_out=gen --pyi_out=gen --grpc_python_out=gen proto/emend/v1/*.proto
# endregion

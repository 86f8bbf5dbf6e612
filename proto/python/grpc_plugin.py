"""A plugin for buf and protoc that makes Python's stubs of services, which grpcio-tools has in its own compiler alone."""

import sys
import tempfile
from pathlib import Path

from google.protobuf.compiler.plugin_pb2 import CodeGeneratorRequest, CodeGeneratorResponse
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc

request = CodeGeneratorRequest.FromString(sys.stdin.buffer.read())
response = CodeGeneratorResponse(supported_features=CodeGeneratorResponse.FEATURE_PROTO3_OPTIONAL)
with tempfile.TemporaryDirectory() as folder:
    contracts, out = Path(folder, "contracts"), Path(folder, "out")
    contracts.write_bytes(FileDescriptorSet(file=request.proto_file).SerializeToString())
    out.mkdir()
    arguments = [f"--descriptor_set_in={contracts}", f"--grpc_python_out={out}", *request.file_to_generate]
    if protoc.main(["protoc", *arguments]) != 0:
        response.error = "grpcio-tools refuses the contracts: it says above why"
    for made in out.rglob("*.py"):
        response.file.add(name=made.relative_to(out).as_posix(), content=made.read_text())
sys.stdout.buffer.write(response.SerializeToString())

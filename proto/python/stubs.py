"""Makes the stubs `emend.v1` when the package is built."""

import tempfile
from pathlib import Path

import grpc_tools
from grpc_tools import protoc
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Stubs(BuildHookInterface):
    def initialize(self, version, build_data):
        root = Path(self.root)
        # Beside this folder in the repository, within it in a source distribution.
        proto = next(folder for folder in (root / "proto", root.parent) if (folder / "emend/v1").is_dir())
        self.made = tempfile.TemporaryDirectory()
        out = self.made.name
        files = sorted(str(file) for file in (proto / "emend/v1").glob("*.proto"))
        arguments = [f"--{kind}_out={out}" for kind in ("python", "pyi", "grpc_python")]
        # Google's own files, which this protoc does not find by itself.
        well_known = Path(grpc_tools.__file__).parent / "_proto"
        if protoc.main(["protoc", f"-I{proto}", f"-I{well_known}", *arguments, *files]) != 0:
            raise RuntimeError("protoc refuses the contracts")
        build_data["force_include"][str(Path(out) / "emend/v1")] = "emend/v1"

    def finalize(self, version, build_data, artifact_path):
        self.made.cleanup()

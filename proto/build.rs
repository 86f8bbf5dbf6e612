//! Compiles `emend/v1/*.proto` with protox: no protoc is needed.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;

const FILES: [&str; 8] = [
    "emend/v1/common.proto",
    "emend/v1/error.proto",
    "emend/v1/generator.proto",
    "emend/v1/grader.proto",
    "emend/v1/orchestrator.proto",
    "emend/v1/retriever.proto",
    "emend/v1/rewriter.proto",
    "emend/v1/web_search.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    for file in FILES {
        println!("cargo::rerun-if-changed={file}");
    }
    let descriptors = protox::compile(FILES, ["."])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("emend.v1.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .build_transport(true)
        .compile_fds(descriptors)?;
    Ok(())
}

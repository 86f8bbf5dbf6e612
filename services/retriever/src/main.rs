//! The retriever as a process of its own.

use std::process::ExitCode;

use emend_retriever::Options;

fn main() -> ExitCode {
    if let Some(code) = emend_documents::reader_process() {
        return code;
    }
    emend_chassis::run::<Options, _, _>("emend-retriever", emend_retriever::serve)
}

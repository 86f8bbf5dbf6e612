//! The retriever as a process of its own.

use std::process::ExitCode;

use emend_retriever::Options;

fn main() -> ExitCode {
    emend_chassis::run::<Options, _, _>("emend-retriever", emend_retriever::serve)
}

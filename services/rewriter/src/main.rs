//! The rewriter as a process of its own.

use std::process::ExitCode;

use emend_rewriter::Options;

fn main() -> ExitCode {
    emend_chassis::run::<Options, _, _>("emend-rewriter", emend_rewriter::serve)
}

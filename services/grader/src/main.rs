//! The grader as a process of its own.

use std::process::ExitCode;

use emend_grader::Options;

fn main() -> ExitCode {
    emend_chassis::run::<Options, _, _>("emend-grader", emend_grader::serve)
}

//! The generator as a process of its own.

use std::process::ExitCode;

use emend_generator::Options;

fn main() -> ExitCode {
    emend_chassis::run::<Options, _, _>("emend-generator", emend_generator::serve)
}

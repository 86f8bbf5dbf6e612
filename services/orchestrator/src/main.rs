//! The orchestrator as a program.

use std::process::ExitCode;

fn main() -> ExitCode {
    emend_chassis::run::<emend_orchestrator::Options, _, _>("emend-orchestrator", emend_orchestrator::serve)
}

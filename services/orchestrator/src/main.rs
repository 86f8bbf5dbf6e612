//! The orchestrator as a program.

use std::process::ExitCode;

fn main() -> ExitCode {
    emend_orchestrator::main()
}

//! The gateway as a process of its own.

use std::process::ExitCode;

use emend_gateway::Options;

fn main() -> ExitCode {
    emend_chassis::run::<Options, _, _>("emend-gateway", emend_gateway::serve)
}

//! Web search as a process of its own.

use std::process::ExitCode;

use emend_web_search::Options;

fn main() -> ExitCode {
    emend_chassis::run::<Options, _, _>("emend-web-search", emend_web_search::serve)
}

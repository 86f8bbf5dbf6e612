//! Web search as a process of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    emend_web_search::main()
}

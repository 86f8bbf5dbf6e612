//! The program under the name of a service: one file, and links to it, are the command line tool and all services.
//!
//! Services that run side by side from one file share its pages in memory and in the caches of the processors, where as many
//! files of their own would displace each other's.

use std::{ffi::OsStr, path::Path, process::ExitCode};

/// The main function of the service that `program` names, the word that the program was called by; `None` for any other
/// name.
#[must_use]
pub fn service(program: &OsStr) -> Option<fn() -> ExitCode> {
    Some(match Path::new(program).file_stem()?.to_str()? {
        "emend-orchestrator" => emend_orchestrator::main,
        "emend-retriever" => emend_retriever::main,
        "emend-grader" => emend_grader::main,
        "emend-generator" => emend_generator::main,
        "emend-rewriter" => emend_rewriter::main,
        "emend-web-search" => emend_web_search::main,
        "emend-gateway" => emend_gateway::main,
        _ => return None,
    })
}

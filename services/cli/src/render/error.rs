//! Renders errors, for people and as JSON.

use std::{fmt::Write as _, io};

use emend_chassis::ConfigError;
use emend_orchestrator::graph::InvalidGraph;
use serde_json::{Value, json};
use tonic_types::StatusExt as _;

use emend_core::{printable, printable_line};

use super::{BAD, short};
use crate::{
    documents::{AddressError, BadGlob, UnknownField},
    terminal,
};

/// The code of an error of the command itself, in JSON.
const OWN: &str = "COMMAND";

/// Exit status of an error.
const ERROR: u8 = 1;
/// Exit status of an invalid command line, as in clap.
const MISUSED: u8 = 2;

/// What is wrong with the command line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Misuse(pub String);

/// The exit status of an error: 2 where an option or the configuration file is wrong, else 1.
#[must_use]
pub fn exit_code(error: &anyhow::Error) -> u8 {
    let is_no_address = matches!(error.downcast_ref::<AddressError>(), Some(AddressError::Address { .. }));
    let is_misuse = error.is::<Misuse>()
        || error.is::<ConfigError>()
        || error.is::<BadGlob>()
        || error.is::<UnknownField>()
        || is_no_address;
    if is_misuse { MISUSED } else { ERROR }
}

/// Prints an error: the message and field violations of a service, or the chain of causes.
pub fn error(error: &anyhow::Error) {
    if let Some(invalid) = error.downcast_ref::<InvalidGraph>() {
        // Each line begins with the file position, which editors and terminals link.
        terminal::eprintln(format_args!(
            "{}\n{BAD}error{BAD:#}: {} cannot be walked",
            printable(&invalid.to_string()),
            printable_line(&invalid.file)
        ));
    } else {
        terminal::eprintln(format_args!("{BAD}error{BAD:#}: {}", printable(&explain(error))));
    }
}

fn explain(error: &anyhow::Error) -> String {
    let Some(status) = error.downcast_ref::<tonic::Status>() else {
        return format!("{error:#}");
    };
    let mut text = if status.message().is_empty() {
        status.code().description().to_owned()
    } else {
        status.message().to_owned()
    };
    let details = status.get_error_details();
    for violation in details
        .bad_request()
        .map(|bad| bad.field_violations.as_slice())
        .unwrap_or_default()
    {
        let line = format!("{}: {}", violation.field, violation.description);
        if !text.contains(&violation.description) {
            let _ = write!(text, "\n  {line}");
        }
    }
    if let Some(delay) = details.retry_info().and_then(|info| info.retry_delay) {
        let _ = write!(text, "\n  try again in {}", short(delay));
    }
    text
}

/// An error as JSON: `{"error": {"code", "reason", "message", "fields"}}`, and `resource` where the reason is about one.
/// The code and the reason are those of the service, or `COMMAND` for an error of the command itself; the fields are those
/// that the service rejects.
#[must_use]
pub fn error_json(error: &anyhow::Error) -> Value {
    let status = error.downcast_ref::<tonic::Status>();
    let code = status.map_or(OWN, |status| emend_chassis::grpc_code_name(status.code()));
    let reason = status.map_or(OWN, |status| emend_chassis::reason_of(status).name());
    let details = status.map(tonic::Status::get_error_details).unwrap_or_default();
    let fields: Vec<Value> = details
        .bad_request()
        .map(|bad| bad.field_violations.as_slice())
        .unwrap_or_default()
        .iter()
        .map(|violation| json!({"field": violation.field, "description": violation.description}))
        .collect();
    let mut told = json!({"code": code, "reason": reason, "message": explain(error), "fields": fields});
    if let Some(resource) = status.and_then(emend_chassis::resource_of) {
        told["resource"] = json!({"type": resource.kind, "name": resource.name});
    }
    json!({ "error": told })
}

/// Whether the output's reader has seen enough, as `head` does.
#[must_use]
pub fn reader_left(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests;

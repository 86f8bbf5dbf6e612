//! Messages as JSON, as this tool prints and reads them: by protobuf's JSON mapping, as the gateway does.

use anyhow::Result;
use emend_json::Unknown;
use prost::Message;
use serde_json::Value;

/// Converts a message of `emend.v1` to JSON; `name` is the message's name within the package.
///
/// # Errors
/// `name` is not a message of the package.
pub fn value(name: &str, message: &impl Message) -> Result<Value> {
    Ok(emend_json::value(name, message)?)
}

/// Parses a message of `emend.v1` from JSON; unknown fields are ignored.
///
/// # Errors
/// `name` is not a message of the package, or the JSON does not match it.
pub fn message<M: Message + Default>(name: &str, value: Value) -> Result<M> {
    Ok(emend_json::message(name, value, Unknown::Ignored)?)
}

#[cfg(test)]
mod tests;

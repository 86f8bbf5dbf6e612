//! The arguments of a tool, each read with what is wrong with it.

use emend_core::{cut, did_you_mean};
use emend_json::Unknown;
use prost::Message;
use rmcp::model::JsonObject;
use serde_json::Value;

/// Refuses arguments that a tool does not have.
pub(super) fn known(arguments: &JsonObject, names: &[&str]) -> Result<(), String> {
    match arguments.keys().find(|name| !names.contains(&name.as_str())) {
        None => Ok(()),
        Some(unknown) => Err(format!(
            "unknown argument `{}`{}: known are {}",
            cut(unknown),
            did_you_mean(unknown, names.iter().copied()),
            names.join(", ")
        )),
    }
}

/// An argument that is text; empty where it is not given.
pub(super) fn text(arguments: &JsonObject, name: &str) -> Result<String, String> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(format!("`{name}` must be a string, is `{}`", cut(&other.to_string()))),
    }
}

/// The arguments as a message of the contracts, whose fields they are called like.
pub(super) fn message<M: Message + Default>(name: &str, arguments: JsonObject) -> Result<M, String> {
    emend_json::message(name, Value::Object(arguments), Unknown::Refused).map_err(|error| error.to_string())
}

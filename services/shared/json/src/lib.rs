//! Messages of `emend.v1` as JSON, by protobuf's JSON mapping: `traceId`, and 64-bit integers as strings.
//!
//! Fields without a value of their own are written with their default, so that a reader finds every list. What has no
//! presence to write (an unset message, an unset `optional`) is left out. Read are both names of a field, `traceId` and
//! `trace_id`, numbers as numbers and as strings, and enums by name and by number, as the mapping has it.

use std::sync::LazyLock;

use prost::Message;
use prost_reflect::{DescriptorPool, DeserializeOptions, DynamicMessage, MessageDescriptor, SerializeOptions};
use serde_json::Value;

/// The package of the contracts.
pub const PACKAGE: &str = "emend.v1";

/// What a reader does with fields that the contract does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Passes over them: they may be of a newer contract.
    Ignored,
    /// Takes them for mistakes.
    Refused,
}

/// Why a message is not converted.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// The package has no message of this name.
    #[error("`{0}` is not a message of {PACKAGE}")]
    Name(String),
    /// The JSON is none, or is not of this message.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The descriptor and the generated type differ.
    #[error("the message does not match its descriptor: {0}")]
    Descriptor(#[from] prost::DecodeError),
}

/// The contracts, with their comments.
///
/// # Errors
/// They are compiled in, so none in practice: [`JsonError::Descriptor`].
pub fn pool() -> Result<&'static DescriptorPool, JsonError> {
    static POOL: LazyLock<Option<DescriptorPool>> =
        LazyLock::new(|| DescriptorPool::decode(emend_proto::FILE_DESCRIPTOR_SET).ok());
    POOL.as_ref().ok_or_else(|| JsonError::Name(PACKAGE.to_owned()))
}

/// Fields are written with their default where they have no value of their own.
const WRITING: SerializeOptions = SerializeOptions::new().skip_default_fields(false);

/// Converts a message to JSON; `name` is the message's name within the package.
///
/// # Errors
/// `name` is not that of the message.
pub fn value(name: &str, message: &impl Message) -> Result<Value, JsonError> {
    let dynamic = dynamic(name, message)?;
    Ok(dynamic.serialize_with_options(serde_json::value::Serializer, &WRITING)?)
}

/// As [`value`], straight to text.
///
/// # Errors
/// As [`value`].
pub fn text(name: &str, message: &impl Message) -> Result<String, JsonError> {
    let dynamic = dynamic(name, message)?;
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::new(&mut text);
    dynamic.serialize_with_options(&mut serializer, &WRITING)?;
    String::from_utf8(text).map_err(|error| JsonError::Json(serde::ser::Error::custom(error)))
}

/// Reads a message from a JSON value.
///
/// # Errors
/// `name` is not a message of the package, or the JSON does not match it.
pub fn message<M: Message + Default>(name: &str, value: Value, unknown: Unknown) -> Result<M, JsonError> {
    let dynamic = DynamicMessage::deserialize_with_options(descriptor(name)?, value, &reading(unknown))?;
    Ok(dynamic.transcode_to()?)
}

/// Reads a message from JSON text.
///
/// # Errors
/// As [`message`]; those of the text name line and column.
pub fn parse<M: Message + Default>(name: &str, text: &[u8], unknown: Unknown) -> Result<M, JsonError> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let dynamic = DynamicMessage::deserialize_with_options(descriptor(name)?, &mut reader, &reading(unknown))?;
    reader.end()?;
    Ok(dynamic.transcode_to()?)
}

fn reading(unknown: Unknown) -> DeserializeOptions {
    DeserializeOptions::new().deny_unknown_fields(unknown == Unknown::Refused)
}

fn dynamic(name: &str, message: &impl Message) -> Result<DynamicMessage, JsonError> {
    let mut dynamic = DynamicMessage::new(descriptor(name)?);
    dynamic.transcode_from(message)?;
    Ok(dynamic)
}

fn descriptor(name: &str) -> Result<MessageDescriptor, JsonError> {
    pool()?
        .get_message_by_name(&format!("{PACKAGE}.{name}"))
        .ok_or_else(|| JsonError::Name(name.to_owned()))
}

#[cfg(test)]
mod tests;

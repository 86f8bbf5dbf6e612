//! Protocol buffers as canonical JSON, with the field names of the proto files.

use anyhow::{Context as _, Result};
use prost::Message;
use prost_reflect::{DescriptorPool, DeserializeOptions, DynamicMessage, MessageDescriptor, SerializeOptions};
use serde_json::Value;

/// Converts a message of `emend.v1` to JSON; `name` is the message's name within the package.
///
/// # Errors
/// `name` is not a message of the package.
pub fn value(name: &str, message: &impl Message) -> Result<Value> {
    let mut dynamic = DynamicMessage::new(descriptor(name)?);
    dynamic.transcode_from(message)?;
    let options = SerializeOptions::new()
        .use_proto_field_name(true)
        .stringify_64_bit_integers(false)
        .skip_default_fields(false);
    Ok(dynamic.serialize_with_options(serde_json::value::Serializer, &options)?)
}

/// Parses a message of `emend.v1` from JSON; unknown fields are ignored.
///
/// # Errors
/// `name` is not a message of the package, or the JSON does not match it.
pub fn message<M: Message + Default>(name: &str, value: Value) -> Result<M> {
    let options = DeserializeOptions::new().deny_unknown_fields(false);
    let dynamic = DynamicMessage::deserialize_with_options(descriptor(name)?, value, &options)?;
    Ok(dynamic.transcode_to()?)
}

fn descriptor(name: &str) -> Result<MessageDescriptor> {
    let pool = DescriptorPool::decode(emend_proto::FILE_DESCRIPTOR_SET)?;
    pool.get_message_by_name(&format!("emend.v1.{name}"))
        .with_context(|| format!("`{name}` is not a message of emend.v1"))
}

#[cfg(test)]
mod tests;

//! Protocol buffers as JSON, in the canonical mapping with the field names of the proto files.

use anyhow::{Context as _, Result};
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use serde_json::Value;

/// The JSON of a message of `emend.v1`; `name` is the message's name within the package.
///
/// # Errors
/// `name` is not a message of the package.
pub fn value(name: &str, message: &impl Message) -> Result<Value> {
    let pool = DescriptorPool::decode(emend_proto::FILE_DESCRIPTOR_SET)?;
    let descriptor = pool
        .get_message_by_name(&format!("emend.v1.{name}"))
        .with_context(|| format!("`{name}` is not a message of emend.v1"))?;
    let mut dynamic = DynamicMessage::new(descriptor);
    dynamic.transcode_from(message)?;
    let options = SerializeOptions::new()
        .use_proto_field_name(true)
        .stringify_64_bit_integers(false)
        .skip_default_fields(false);
    Ok(dynamic.serialize_with_options(serde_json::value::Serializer, &options)?)
}

#[cfg(test)]
mod tests {
    use emend_proto::v1::{Step, WalkResult, WalkStatus};

    use super::*;

    #[test]
    fn names_are_those_of_the_proto_files() {
        let result = WalkResult {
            status: WalkStatus::Abstained.into(),
            steps: vec![Step {
                number: 1,
                ..Step::default()
            }],
            ..WalkResult::default()
        };
        let json = value("WalkResult", &result).unwrap();
        assert_eq!(json["status"], "WALK_STATUS_ABSTAINED");
        assert_eq!(json["steps"][0]["number"], 1);
        assert_eq!(json["answer"], "");
    }

    #[test]
    fn an_unknown_name_is_an_error() {
        assert!(value("Nonsense", &Step::default()).is_err());
    }
}

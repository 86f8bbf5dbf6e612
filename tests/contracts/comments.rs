//! The contracts are documented: every message, field, enum, service and RPC has a comment.

use prost::Message as _;
use prost_reflect::prost_types::{DescriptorProto, EnumDescriptorProto, FileDescriptorSet};

#[test]
fn everything_in_the_contracts_has_a_comment() {
    let set = FileDescriptorSet::decode(emend_proto::FILE_DESCRIPTOR_SET).unwrap();
    let mut bare = Vec::new();
    for file in set.file.iter().filter(|file| file.package() == "emend.v1") {
        let mut expected = Vec::new();
        for (index, message) in file.message_type.iter().enumerate() {
            message_paths(message, vec![4, index as i32], &mut expected);
        }
        for (index, declared) in file.enum_type.iter().enumerate() {
            enum_paths(declared, vec![5, index as i32], &mut expected);
        }
        for (index, service) in file.service.iter().enumerate() {
            expected.push((vec![6, index as i32], service.name().to_owned()));
            for (rpc, method) in service.method.iter().enumerate() {
                expected.push((
                    vec![6, index as i32, 2, rpc as i32],
                    format!("{}/{}", service.name(), method.name()),
                ));
            }
        }
        assert!(!expected.is_empty(), "{} declares nothing", file.name());
        let commented: Vec<_> = file
            .source_code_info
            .iter()
            .flat_map(|info| &info.location)
            .filter(|location| !location.leading_comments().trim().is_empty())
            .map(|location| location.path.clone())
            .collect();
        bare.extend(
            expected
                .into_iter()
                .filter(|(path, _)| !commented.contains(path))
                .map(|(_, name)| name),
        );
    }
    assert!(bare.is_empty(), "without a comment: {bare:?}");
}

fn message_paths(message: &DescriptorProto, path: Vec<i32>, expected: &mut Vec<(Vec<i32>, String)>) {
    let below = |number: i32, index: usize| [path.as_slice(), &[number, index as i32]].concat();
    if message.options.as_ref().is_some_and(|options| options.map_entry()) {
        return;
    }
    for (index, field) in message.field.iter().enumerate() {
        expected.push((below(2, index), format!("{}.{}", message.name(), field.name())));
    }
    for (index, nested) in message.nested_type.iter().enumerate() {
        message_paths(nested, below(3, index), expected);
    }
    for (index, nested) in message.enum_type.iter().enumerate() {
        enum_paths(nested, below(4, index), expected);
    }
    expected.push((path, message.name().to_owned()));
}

/// The `_UNSPECIFIED` value says what it is by its name.
fn enum_paths(declared: &EnumDescriptorProto, path: Vec<i32>, expected: &mut Vec<(Vec<i32>, String)>) {
    assert!(
        declared.value[0].name().ends_with("_UNSPECIFIED"),
        "{}",
        declared.name()
    );
    expected.push((path, declared.name().to_owned()));
}

//! The reasons of errors in the contracts are those that the code has, each with the code that its comment says.

use std::collections::BTreeMap;

use emend_core::Reason;
use prost::Message as _;
use prost_reflect::prost_types::FileDescriptorSet;

#[test]
fn the_reasons_of_the_contracts_are_those_of_the_code() {
    let set = FileDescriptorSet::decode(emend_proto::FILE_DESCRIPTOR_SET).unwrap();
    let file = set
        .file
        .iter()
        .find(|file| file.name() == "emend/v1/error.proto")
        .unwrap();
    let comments = &file.source_code_info.as_ref().unwrap().location;
    let mut told = BTreeMap::new();
    for (index, value) in file.enum_type[0].value.iter().enumerate().skip(1) {
        let place = [5, 0, 2, i32::try_from(index).unwrap()];
        let comment = comments.iter().find(|location| location.path == place).unwrap();
        let (code, _) = comment.leading_comments().trim().split_once('.').unwrap();
        told.insert(
            value.name().strip_prefix("ERROR_REASON_").unwrap().to_owned(),
            code.to_owned(),
        );
    }
    let own = Reason::ALL
        .iter()
        .map(|reason| (reason.name().to_owned(), reason.code().name().to_owned()));
    assert_eq!(told, own.collect());
}

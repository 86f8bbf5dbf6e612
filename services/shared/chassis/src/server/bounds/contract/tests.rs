use emend_proto::FILE_DESCRIPTOR_SET;
use emend_proto::v1::{ChatMessage, Passage, Sentence, TextPiece};

use super::*;

fn memory(contract: &Contract, path: &str, field: u32) -> usize {
    let request = contract.method(path).unwrap().request;
    contract.field(request, field).unwrap().memory
}

#[test]
fn a_message_is_thought_at_least_as_large_as_it_is_and_not_much_larger() {
    let contract = Contract::of(&[FILE_DESCRIPTOR_SET.to_vec()]);
    let grade = "/emend.v1.GraderService/GradeGroundedness";
    let passages = contract.method(grade).unwrap().request;
    let Kind::Message(passage) = contract.field(passages, 2).unwrap().kind else {
        panic!("a passage is a message")
    };
    for (memory, size) in [
        (memory(&contract, grade, 2), size_of::<Passage>()),
        (memory(&contract, grade, 4), size_of::<Sentence>()),
        (
            memory(&contract, "/emend.v1.RewriterService/Rewrite", 4),
            size_of::<ChatMessage>(),
        ),
        (contract.field(passage, 11).unwrap().memory, size_of::<TextPiece>()),
        (
            contract.field(passage, 10).unwrap().memory,
            size_of::<(String, String)>(),
        ),
    ] {
        assert!(
            memory >= GROWTH * size && memory <= 4 * GROWTH * size,
            "{memory} for {size}"
        );
    }
    // What is not repeated has its place in the message around it, and is not looked at.
    assert!(contract.field(passage, 8).is_none());
}

#[test]
fn the_methods_are_known_and_which_of_them_take_streams() {
    let contract = Contract::of(&[FILE_DESCRIPTOR_SET.to_vec(), b"not a descriptor set".to_vec()]);
    assert!(
        !contract
            .method("/emend.v1.RetrieverService/Retrieve")
            .unwrap()
            .client_streaming
    );
    assert!(
        contract
            .method("/emend.v1.RetrieverService/Ingest")
            .unwrap()
            .client_streaming
    );
    assert_eq!(contract.method("/grpc.health.v1.Health/Check"), None);
}

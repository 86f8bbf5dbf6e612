use std::sync::LazyLock;

use emend_core::limits::{MAX_FILTERS, MAX_PASSAGES};
use emend_proto::FILE_DESCRIPTOR_SET;
use emend_proto::v1::{AskRequest, GradeGroundednessRequest, IngestRequest, Passage, Sentence, Span, TextPiece};
use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use prost::Message;

use super::*;

static CONTRACT: LazyLock<Arc<Contract>> = LazyLock::new(|| Arc::new(Contract::of(&[FILE_DESCRIPTOR_SET.to_vec()])));

const GRADE: &str = "/emend.v1.GraderService/GradeGroundedness";

/// Scans a request of a method, so many bytes at a time.
fn scan(path: &str, message: &[u8], step: usize) -> Result<Scan, TooManyElements> {
    let request = CONTRACT.method(path).unwrap().request;
    let mut scan = Scan::new(Arc::clone(&CONTRACT), request, message.len());
    message.chunks(step).try_for_each(|bytes| scan.read(bytes))?;
    Ok(scan)
}

fn passages(count: usize) -> Vec<Passage> {
    let passage = |number: usize| Passage {
        id: format!("{number}"),
        text: "text".repeat(number % 9),
        metadata: (0..3).map(|key| (format!("key {key}"), "value".to_owned())).collect(),
        span: Some(Span { start: 1, end: 300 }),
        ..Default::default()
    };
    (0..count).map(passage).collect()
}

/// The bytes that one more of a field of the request adds.
fn memory(path: &[u32]) -> usize {
    let mut message = CONTRACT.method(GRADE).unwrap().request;
    let mut memory = 0;
    for number in path {
        let field = CONTRACT.field(message, *number).unwrap();
        memory = field.memory;
        if let Kind::Message(inner) = field.kind {
            message = inner;
        }
    }
    memory
}

#[test]
fn what_is_repeated_adds_up_at_every_depth_however_the_bytes_come() {
    let request = GradeGroundednessRequest {
        question: "who?".to_owned(),
        passages: passages(10),
        sentences: vec![Sentence::default(); 5],
        ..Default::default()
    };
    let message = request.encode_to_vec();
    let expected = 10 * (memory(&[2]) + 3 * memory(&[2, 10])) + 5 * memory(&[4]);
    for step in [1, 2, 7, message.len()] {
        let scan = scan(GRADE, &message, step).unwrap();
        assert_eq!((scan.memory(), scan.is_malformed()), (expected, false), "{step}");
    }
}

#[test]
fn empty_elements_are_refused_where_they_need_too_much_memory() {
    // A field with a length, and a length of zero.
    for (key, number, field) in [(0x22, 4, "sentences"), (0x12, 2, "passages")] {
        let most = MAX_MESSAGE_MEMORY / memory(&[number]);
        let message = [key, 0].repeat(most);
        assert_eq!(scan(GRADE, &message, 4096).unwrap().memory(), most * memory(&[number]));
        let refused = scan(GRADE, &[key, 0].repeat(most + 1), 4096).unwrap_err();
        assert_eq!(refused.field, field);
    }
    let passage = [0x52, 0].repeat(MAX_MESSAGE_MEMORY / memory(&[2, 10]) + 1);
    let mut message = vec![0x12];
    prost::encoding::encode_varint(passage.len() as u64, &mut message);
    message.extend(passage);
    assert_eq!(scan(GRADE, &message, 999).unwrap_err().field, "passages.metadata");
}

#[test]
fn the_most_passages_with_the_most_pieces_and_metadata_need_much_less_than_the_most_memory() {
    let mut passages = passages(MAX_PASSAGES);
    for passage in &mut passages {
        passage.metadata = (0..MAX_FILTERS).map(|key| (key.to_string(), String::new())).collect();
        passage.pieces = vec![TextPiece::default(); 1000];
    }
    let request = GradeGroundednessRequest {
        passages,
        ..Default::default()
    };
    let needed = scan(GRADE, &request.encode_to_vec(), 16_384).unwrap().memory();
    assert!(needed < MAX_MESSAGE_MEMORY / 2, "{needed}");
}

#[test]
fn what_the_contract_does_not_know_is_skipped_also_in_groups() {
    let sentences = [0x22, 0].repeat(3);
    // Field 1000 as bytes that look like sentences, and as a group with a group and bytes in it.
    let unknown = [0xc2, 0x3e, 6, 0x22, 0, 0x22, 0, 0x22, 0];
    let group = [0xc3, 0x3e, 0x0b, 0x22, 2, 0, 0, 0x0c, 0x08, 0x96, 0x01, 0xc4, 0x3e];
    let message = [&sentences[..], &unknown, &sentences, &group, &sentences].concat();
    assert!(GradeGroundednessRequest::decode(&*message).is_ok());
    let scan = scan(GRADE, &message, 1).unwrap();
    assert_eq!((scan.memory(), scan.is_malformed()), (9 * memory(&[4]), false));
}

prop_compose! {
    fn passage()(id in ".{0,9}", text in ".{0,99}", score in any::<f64>(), metadata in hash_map(".{0,5}", ".{0,9}", 0..4),
                 span in any::<Option<(u32, u32)>>()) -> Passage {
        let span = span.map(|(start, end)| Span { start, end });
        Passage { id, text, score, metadata, span, ..Default::default() }
    }
}

prop_compose! {
    fn request()(question in ".{0,20}", answer in ".{0,50}", passages in vec(passage(), 0..5),
                 texts in vec(".{0,20}", 0..5)) -> GradeGroundednessRequest {
        let sentences = texts.into_iter().map(|text| Sentence { text, ..Default::default() }).collect();
        GradeGroundednessRequest { question, answer, passages, sentences }
    }
}

/// Bytes that are a message more often than any bytes are.
fn nearly_a_message() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        request().prop_map(|request| request.encode_to_vec()),
        vec(any::<u8>(), 0..12),
        Just(vec![0x22, 0]),
        Just(vec![0x0b]),
        Just(vec![0x0c]),
        Just(vec![0x12, 3, 0x0a, 1, b'a']),
    ];
    vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_message_is_never_called_malformed(request in request(), step in 1..64_usize) {
        let message = request.encode_to_vec();
        let scan = scan(GRADE, &message, step).unwrap();
        prop_assert!(!scan.is_malformed());
        let most = request.passages.len() * memory(&[2]) + request.sentences.len() * memory(&[4]);
        prop_assert!(scan.memory() >= most);
    }

    #[test]
    fn what_prost_takes_is_never_called_malformed(message in nearly_a_message(), step in 1..64_usize) {
        let request = message.as_slice();
        for (path, taken) in [
            (GRADE, GradeGroundednessRequest::decode(request).is_ok()),
            ("/emend.v1.RetrieverService/Ingest", IngestRequest::decode(request).is_ok()),
            ("/emend.v1.OrchestratorService/Ask", AskRequest::decode(request).is_ok()),
        ] {
            let scan = scan(path, &message, step).unwrap();
            prop_assert!(!(taken && scan.is_malformed()), "{path}");
        }
    }

    #[test]
    fn the_count_does_not_depend_on_how_the_bytes_come(message in nearly_a_message(), step in 1..9_usize) {
        let at_once = scan(GRADE, &message, usize::MAX).unwrap().memory();
        prop_assert_eq!(scan(GRADE, &message, step).unwrap().memory(), at_once);
    }
}

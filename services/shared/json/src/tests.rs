use emend_proto::v1::{Question, Step, Usage, WalkResult, WalkStatus};

use super::*;

fn result() -> WalkResult {
    WalkResult {
        status: WalkStatus::Abstained.into(),
        trace_id: "ab".to_owned(),
        steps: vec![Step {
            number: 1,
            ..Step::default()
        }],
        usage: Some(Usage {
            input_tokens: 7,
            ..Usage::default()
        }),
        groundedness: Some(0.5),
        options: [("top_k".to_owned(), 4.0)].into(),
        ..WalkResult::default()
    }
}

#[test]
fn names_are_those_of_the_mapping_and_64_bits_are_strings() {
    let json = value("WalkResult", &result()).unwrap();
    assert_eq!(json["status"], "WALK_STATUS_ABSTAINED");
    assert_eq!(json["traceId"], "ab");
    assert_eq!(json["usage"]["inputTokens"], "7");
    assert_eq!(json["answer"], "");
    let text = text("WalkResult", &result()).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json);
}

#[test]
fn what_is_written_is_read_back_and_so_are_the_names_of_the_files() {
    let json = value("WalkResult", &result()).unwrap();
    assert_eq!(
        message::<WalkResult>("WalkResult", json, Unknown::Refused).unwrap(),
        result()
    );
    let files = br#"{"trace_id": "ab", "usage": {"input_tokens": 7}}"#;
    let read: WalkResult = parse("WalkResult", files, Unknown::Refused).unwrap();
    assert_eq!((read.trace_id.as_str(), read.usage.unwrap().input_tokens), ("ab", 7));
}

#[test]
fn an_unknown_field_is_passed_over_or_named() {
    let text = br#"{"question": "Why?", "topk": 3}"#;
    let read: Question = parse("Question", text, Unknown::Ignored).unwrap();
    assert_eq!(read.question, "Why?");
    let error = parse::<Question>("Question", text, Unknown::Refused).unwrap_err();
    assert!(error.to_string().contains("topk"), "{error}");
}

#[test]
fn what_follows_a_message_is_an_error() {
    assert!(parse::<Question>("Question", br#"{} {}"#, Unknown::Ignored).is_err());
}

#[test]
fn an_unknown_name_is_an_error() {
    assert!(value("Nonsense", &Step::default()).is_err());
}

use emend_proto::v1::{Step, WalkResult, WalkStatus};

use super::*;

#[test]
fn names_are_those_of_the_json_mapping() {
    let result = WalkResult {
        status: WalkStatus::Abstained.into(),
        trace_id: "ab".to_owned(),
        steps: vec![Step {
            number: 1,
            ..Step::default()
        }],
        ..WalkResult::default()
    };
    let json = value("WalkResult", &result).unwrap();
    assert_eq!(json["status"], "WALK_STATUS_ABSTAINED");
    assert_eq!(json["steps"][0]["number"], 1);
    assert_eq!(json["traceId"], "ab");
    assert_eq!(json["answer"], "");
}

#[test]
fn a_message_round_trips_and_unknown_fields_are_ignored() {
    let result = WalkResult {
        status: WalkStatus::Answered.into(),
        groundedness: Some(0.5),
        options: [("top_k".to_owned(), 4.0)].into(),
        ..WalkResult::default()
    };
    let mut json = value("WalkResult", &result).unwrap();
    json["from_the_future"] = 1.into();
    assert_eq!(message::<WalkResult>("WalkResult", json).unwrap(), result);
}

#[test]
fn an_unknown_name_is_an_error() {
    assert!(value("Nonsense", &Step::default()).is_err());
}

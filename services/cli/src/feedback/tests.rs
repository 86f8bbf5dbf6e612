use clap::Parser as _;
use emend_proto::v1::{Citation, GradedPassage, Passage, Sentence, WalkStatus};

use super::*;
use crate::args::{Arguments, Command};

fn options(more: &[&str]) -> RecordOptions {
    let fixed = [
        "emend",
        "feedback",
        "record",
        "--verdict",
        "right",
        "--question",
        "How many?",
        "--feedback-dir",
        "f",
    ];
    let parsed = Arguments::try_parse_from([&fixed, more].concat()).unwrap();
    match parsed.command {
        Command::Feedback(FeedbackCommand::Record(options)) => *options,
        other => panic!("{other:?}"),
    }
}

fn result() -> WalkResult {
    let document = |text: &str| GradedPassage {
        passage: Some(Passage {
            id: format!("{text}#p0"),
            text: text.to_owned(),
            ..Passage::default()
        }),
        ..GradedPassage::default()
    };
    WalkResult {
        status: WalkStatus::Answered.into(),
        answer: "25".to_owned(),
        trace_id: "abc".to_owned(),
        documents: vec![document("one"), document("two"), document(""), document("four")],
        sentences: vec![Sentence {
            citations: vec![Citation {
                number: 2,
                ..Citation::default()
            }],
            ..Sentence::default()
        }],
        ..WalkResult::default()
    }
}

#[test]
fn a_title_of_feedback_has_the_headings_and_is_no_longer_than_it_may_be() {
    let title = |title: &str| {
        let mut result = result();
        let passage = result.documents[0].passage.as_mut().unwrap();
        title.clone_into(&mut passage.title);
        passage.headings = vec!["Page 3".to_owned(), "Leave".to_owned()];
        let made = feedback(&options(&["--result", "r.json"]), Some(result)).unwrap();
        let title = made.passages[0].title.clone();
        emend_orchestrator::check_feedback(Some(made)).unwrap();
        title
    };
    assert_eq!(title("Handbook"), "Handbook › Page 3 › Leave");
    assert_eq!(title(&"h".repeat(1020)), format!("{} ›", "h".repeat(1020)));
}

#[test]
fn a_result_is_taken_with_what_is_said_of_its_documents() {
    let made = feedback(
        &options(&["--result", "r.json", "--relevant", "2,4", "--irrelevant", "1"]),
        Some(result()),
    )
    .unwrap();
    assert_eq!(
        (made.walk_id.as_str(), made.answer.as_str(), made.verdict()),
        ("abc", "25", FeedbackVerdict::Right)
    );
    let told: Vec<_> = made
        .passages
        .iter()
        .map(|passage| (passage.text.as_str(), passage.cited, passage.relevant))
        .collect();
    assert_eq!(
        told,
        [
            ("one", false, Some(false)),
            ("two", true, Some(true)),
            ("four", false, Some(true))
        ]
    );
    assert!(emend_orchestrator::check_feedback(Some(made)).is_ok());
}

#[test]
fn numbers_that_are_none_of_the_result_are_refused() {
    for (more, says) in [
        (
            ["--relevant", "5", "--irrelevant", "1"],
            "--relevant 5: the result has 4 documents",
        ),
        (["--relevant", "1", "--irrelevant", "0"], "--irrelevant 0"),
        (["--relevant", "3", "--irrelevant", "3"], "document 3 is both"),
    ] {
        let refused = feedback(&options(&[&["--result", "r.json"], &more[..]].concat()), Some(result())).unwrap_err();
        assert!(refused.to_string().contains(says), "{refused}");
    }
}

use emend_proto::v1::{Passage, Span};

use super::{super::plain, *};

fn answered() -> WalkResult {
    let citation = Citation {
        number: 1,
        passage_id: "p".to_owned(),
        span: Some(Span { start: 2, end: 9 }),
        document_span: Some(Span { start: 102, end: 109 }),
    };
    WalkResult {
        status: WalkStatus::Answered.into(),
        answer: "Leave is 25 days.".to_owned(),
        sentences: vec![Sentence {
            text: "Leave is 25 days.".to_owned(),
            citations: vec![citation],
            ..Sentence::default()
        }],
        documents: vec![GradedPassage {
            passage: Some(Passage {
                id: "p".to_owned(),
                source: "/docs/leave.md".to_owned(),
                title: "Leave".to_owned(),
                span: Some(Span { start: 100, end: 900 }),
                ..Passage::default()
            }),
            score: Some(0.9),
            ..GradedPassage::default()
        }],
        graph: "self-rag".to_owned(),
        ..WalkResult::default()
    }
}

#[test]
fn an_answer_shows_citations_with_file_and_characters() {
    let text = plain(&result(&answered()));
    assert!(text.contains("Leave is 25 days. [1]"), "{text}");
    assert!(
        text.contains("[1] /docs/leave.md — Leave (characters 102–109) relevance 0.90"),
        "{text}"
    );
    assert!(text.contains("answered by self-rag"), "{text}");
}

#[test]
fn a_citation_from_the_web_says_so_and_one_of_the_documents_does_not() {
    for (origin, line) in [
        (Origin::Web, "[1] web: https://example.com/leave — Leave"),
        (Origin::Local, "[1] https://example.com/leave — Leave"),
        (Origin::Unspecified, "[1] https://example.com/leave — Leave"),
    ] {
        let mut cited = answered();
        let passage = cited.documents[0].passage.as_mut().unwrap();
        passage.set_origin(origin);
        "https://example.com/leave".clone_into(&mut passage.source);
        let text = plain(&result(&cited));
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn a_citation_shows_the_page_and_headings_that_the_quoted_text_stands_under() {
    let cited = |headings: &[&str], text: &str, quoted: Option<Span>| {
        let mut cited = answered();
        let passage = cited.documents[0].passage.as_mut().unwrap();
        passage.source = "/docs/handbook.pdf".to_owned();
        passage.title = "Handbook".to_owned();
        text.clone_into(&mut passage.text);
        passage.headings = headings.iter().map(|&heading| heading.to_owned()).collect();
        cited.sentences[0].citations[0].span = quoted;
        plain(&result(&cited))
    };
    let text = "# Page 1\n\nLeave.\n\n# Page 2\n\nTrains.";
    let at = |start| Some(Span { start, end: start + 6 });
    for (headings, text, quoted, shown) in [
        (
            &["Page 3", "Leave"][..],
            "text",
            at(0),
            "Handbook, page 3 › Leave (characters",
        ),
        (&[], text, at(10), "Handbook, page 1 (characters"),
        (&[], text, at(28), "Handbook, page 2 (characters"),
        (&[], text, None, "Handbook, page 1 (characters"),
        (&["Leave\u{1b}[2J"], "text", None, "Handbook, Leave␛[2J (characters"),
        (&[], "text", None, "Handbook (characters"),
    ] {
        let line = cited(headings, text, quoted);
        assert!(line.contains(&format!("[1] /docs/handbook.pdf — {shown}")), "{line}");
    }
    let long = "휴가 ".repeat(60);
    let line = cited(&["Page 3", &long], "text", None);
    let (_, place) = line.split_once("Handbook, ").unwrap();
    let (place, _) = place.split_once(" (characters").unwrap();
    assert!(place.starts_with("page 3 › 휴가") && place.ends_with('…'), "{line}");
    assert!(place.chars().count() < 60, "{line}");
}

#[test]
fn an_abstention_shows_its_reason_and_no_citation() {
    let mut abstained = answered();
    abstained.status = WalkStatus::Abstained.into();
    abstained.answer = "The documents do not answer this question.".to_owned();
    abstained.reason = "no passage was relevant".to_owned();
    let text = plain(&result(&abstained));
    assert!(
        text.starts_with("The documents do not answer this question.\n"),
        "{text}"
    );
    assert!(
        text.contains("no passage was relevant") && !text.contains("[1]"),
        "{text}"
    );
}

#[test]
fn the_status_shows_the_exhausted_limit_and_the_standalone_question() {
    let mut exhausted = answered();
    exhausted.status = WalkStatus::Unverified.into();
    exhausted.exhausted = Limit::ModelCalls.into();
    exhausted.reason = "the budget of 3 model calls was reached".to_owned();
    exhausted.standalone_question = "How long is paid leave?".to_owned();
    let text = plain(&result(&exhausted));
    assert!(text.contains("unverified (out of model calls) by self-rag"), "{text}");
    assert!(text.contains("asked as: How long is paid leave?\n"), "{text}");
}

#[test]
fn an_error_of_a_service_stands_with_its_step_and_not_again_in_the_reason() {
    let mut abstained = answered();
    abstained.status = WalkStatus::Abstained.into();
    abstained.steps = vec![emend_proto::v1::Step {
        error: "web search: connection refused".to_owned(),
        ..emend_proto::v1::Step::default()
    }];
    abstained.reason = "`web_search` ended in `unavailable`: web search: connection refused".to_owned();
    let text = plain(&result(&abstained));
    assert!(text.contains("`web_search` ended in `unavailable`\n"), "{text}");
    assert!(!text.contains("connection refused"), "{text}");
}

#[test]
fn a_failed_walk_shows_no_answer_and_its_failure_says_what_to_do() {
    let mut failed = answered();
    failed.status = WalkStatus::Failed.into();
    failed.sentences.clear();
    failed.answer.clear();
    let text = plain(&result(&failed));
    assert!(text.starts_with("failed by self-rag"), "{text}");
    let failure = plain(&super::failure(&Failure {
        reason: "MODEL_UNAVAILABLE".to_owned(),
        service: "generator".to_owned(),
        code: "UNAVAILABLE".to_owned(),
        cause: "connection\u{1b} refused".to_owned(),
        advice: "check that the generator runs".to_owned(),
    }));
    assert_eq!(
        failure,
        "error: the generator failed (MODEL_UNAVAILABLE): connection␛ refused\n  check that the generator runs"
    );
}

#[test]
fn every_citation_number_that_is_shown_is_listed() {
    let mut cited = answered();
    let citation = |number: u32| Citation {
        number,
        passage_id: format!("passage {number}"),
        ..Citation::default()
    };
    cited.sentences = vec![
        Sentence {
            text: "One.".to_owned(),
            citations: vec![citation(0), citation(2), citation(1)],
            ..Sentence::default()
        },
        Sentence {
            text: "Two.".to_owned(),
            citations: vec![citation(7), citation(2)],
            ..Sentence::default()
        },
    ];
    let text = plain(&result(&cited));
    assert!(text.starts_with("One. [2] [1] Two. [7] [2]\n"), "{text}");
    let listed: Vec<&str> = text.lines().filter(|line| line.starts_with("  [")).collect();
    let numbers: Vec<&str> = listed.iter().map(|line| &line[2..5]).collect();
    assert_eq!(numbers, ["[1]", "[2]", "[7]"], "{text}");
}

use emend_proto::v1::{Citation, GradedPassage, Passage, Sentence, Span, WalkEvent};

use super::*;

#[test]
fn a_citation_says_whether_it_is_from_the_web() {
    let document = |source: &str, origin: Origin| GradedPassage {
        passage: Some(Passage {
            source: source.to_owned(),
            origin: origin.into(),
            ..Passage::default()
        }),
        ..GradedPassage::default()
    };
    let citation = |number| Citation {
        number,
        ..Citation::default()
    };
    let result = WalkResult {
        status: WalkStatus::Answered.into(),
        answer: "It has 25 days.".to_owned(),
        sentences: vec![Sentence {
            span: Some(Span { start: 0, end: 15 }),
            citations: vec![citation(1), citation(2)],
            ..Sentence::default()
        }],
        documents: vec![
            document("leave.md", Origin::Local),
            document("https://example.com/leave", Origin::Web),
        ],
        ..WalkResult::default()
    };
    let mut walk = Walk::default();
    walk.add(&WalkEvent {
        event: Some(Event::Finished(result.clone())),
        ..WalkEvent::default()
    });
    let told = serde_json::to_value(told(&Walks::new(), walk, &result)).unwrap();
    let citations = &told["structuredContent"]["citations"];
    assert_eq!(
        (&citations[0]["origin"], &citations[1]["origin"]),
        (&json!("ORIGIN_LOCAL"), &json!("ORIGIN_WEB"))
    );
    // Assistants that read no structure are told by the links and in the text.
    let content = &told["content"];
    assert!(
        content[0]["text"]
            .as_str()
            .unwrap()
            .contains("[2] web: https://example.com/leave"),
        "{content}"
    );
    assert_eq!(content[1].get("description"), None, "{content}");
    assert_eq!(content[2]["description"], "From the web", "{content}");
}

use emend_proto::v1::{Question, RewriteResponse, WalkRecord, WalkStatus};

use super::*;
use crate::render::plain;

fn ms<D: TryFrom<Duration>>(milliseconds: u64) -> Option<D> {
    D::try_from(Duration::from_millis(milliseconds)).ok()
}

#[test]
fn bars_stand_where_steps_and_calls_were() {
    let step = |number: u32, node: &str, took: u64| Step {
        number,
        node: node.to_owned(),
        outcome: "done".to_owned(),
        summary: format!("summary {number}"),
        duration: ms(took),
        ..Step::default()
    };
    let walk = WalkResult {
        status: WalkStatus::Answered.into(),
        steps: vec![step(1, "retrieve", 40), step(2, "rewrite", 120)],
        duration: ms(160),
        record: Some(WalkRecord {
            version: 1,
            question: Some(Question {
                question: "Why\u{1b}?".to_owned(),
                ..Question::default()
            }),
            calls: vec![RecordedCall {
                step: 2,
                method: "Rewrite".to_owned(),
                started: ms(80),
                duration: ms(40),
                reply: Some(Reply::Rewritten(RewriteResponse {
                    query: "another query".to_owned(),
                    usage: None,
                })),
                ..RecordedCall::default()
            }],
            ..WalkRecord::default()
        }),
        ..WalkResult::default()
    };
    let text = plain(&text(&walk));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Why␛?");
    let bar = |line: &str, fill: char| {
        let place = line.chars().position(|c| c == fill).unwrap();
        (place, line.chars().filter(|c| *c == fill).count())
    };
    let (start, length) = bar(lines[1], '█');
    assert_eq!(length, 8, "{text}");
    assert_eq!(bar(lines[2], '█'), (start + 8, 24), "{text}");
    assert_eq!(bar(lines[3], '▒'), (start + 16, 8), "{text}");
    assert!(
        lines[1].contains("1 retrieve") && lines[1].ends_with("40 ms  done, summary 1"),
        "{text}"
    );
    assert!(
        lines[3].starts_with("│  └─ Rewrite") && lines[3].ends_with("another query"),
        "{text}"
    );
    assert!(lines[4].starts_with("└─ answered"), "{text}");
}

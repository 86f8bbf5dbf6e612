use emend_proto::v1::{GradedPassage, Passage, SentenceCommitted, SentenceRetracted, StepFinished, Strip};

use super::{super::plain, *};

fn finished(step: Step) -> Event {
    Event::StepFinished(StepFinished { step: Some(step) })
}

fn shown(live: &mut Live, event: &Event) -> Vec<String> {
    live.lines(event).iter().map(|line| plain(line)).collect()
}

fn passage(id: &str, kept: bool, score: Option<f64>) -> GradedPassage {
    GradedPassage {
        passage: Some(Passage {
            id: id.to_owned(),
            source: format!("/docs/{id}.md"),
            text: format!("Text of\n{id}."),
            ..Passage::default()
        }),
        kept,
        score,
        ..GradedPassage::default()
    }
}

#[test]
fn a_failed_dependency_is_shown_with_its_step() {
    let step = Step {
        node: "grade_documents".to_owned(),
        outcome: "unavailable".to_owned(),
        error: "grader: connection refused".to_owned(),
        ..Step::default()
    };
    let line = plain(&step_line(&step));
    assert!(
        line.starts_with("! grade_documents") && line.ends_with("(grader: connection refused)"),
        "{line}"
    );
}

#[test]
fn a_new_query_is_shown_once_beside_the_old_one() {
    let step = Step {
        node: "rewrite".to_owned(),
        action: "rewrite".to_owned(),
        outcome: "rewritten".to_owned(),
        summary: "query: leave days".to_owned(),
        previous_query: "How long is leave?".to_owned(),
        query: "leave days".to_owned(),
        ..Step::default()
    };
    let lines = shown(&mut Live::on(false), &finished(step));
    assert!(lines[0].ends_with("ms"), "{lines:?}");
    assert_eq!(lines[1], "    query: How long is leave? → leave days");
}

#[test]
fn passages_are_shown_when_they_change() {
    let mut live = Live::on(false);
    let mut step = Step {
        node: "retrieve".to_owned(),
        passages: vec![passage("a", true, None), passage("b", true, None)],
        ..Step::default()
    };
    let lines = shown(&mut live, &finished(step.clone()));
    assert_eq!(
        lines[1..],
        ["    +      /docs/a.md Text of a.", "    +      /docs/b.md Text of b."]
    );
    step.passages = vec![passage("a", true, None), passage("b", false, Some(0.123))];
    let lines = shown(&mut live, &finished(step.clone()));
    assert_eq!(lines[1..], ["    - 0.12 /docs/b.md Text of b."]);
    assert_eq!(shown(&mut live, &finished(step)).len(), 1);
}

#[test]
fn a_passage_that_a_step_refers_to_is_shown_as_it_was() {
    let mut live = Live::on(false);
    let step = |passages| {
        finished(Step {
            passages,
            ..Step::default()
        })
    };
    shown(&mut live, &step(vec![passage("a", true, None)]));
    let reference = GradedPassage {
        passage: Some(Passage {
            id: "a".to_owned(),
            ..Passage::default()
        }),
        content: PassageContent::EarlierStep.into(),
        ..passage("a", false, Some(0.2))
    };
    let lines = shown(&mut live, &step(vec![reference]));
    assert_eq!(lines[1..], ["    - 0.20 /docs/a.md Text of a."]);
}

#[test]
fn strips_are_shown_with_scores_and_the_rest_is_counted() {
    let strip = |kept: bool, score: f64| Strip {
        passage_id: "a".to_owned(),
        text: format!("strip {score}"),
        kept,
        score: Some(score),
        ..Strip::default()
    };
    let mut strips: Vec<Strip> = [0.1, 0.4, 0.2, 0.3, 0.15].map(|score| strip(false, score)).into();
    strips.push(strip(true, 0.9));
    let step = Step {
        node: "refine".to_owned(),
        strips,
        passages: vec![passage("a", true, Some(0.9)), passage("web", true, None)],
        ..Step::default()
    };
    let lines = shown(&mut Live::on(false), &finished(step));
    assert_eq!(
        lines[1..],
        [
            "    + 0.90 strip 0.9",
            "    - 0.40 strip 0.4",
            "    - 0.30 strip 0.3",
            "    - 0.20 strip 0.2",
            "    -      2 more, at most 0.15",
            "    +      /docs/web.md Text of web."
        ]
    );
}

#[test]
fn an_edge_is_explained_unless_its_outcome_implies_the_reason() {
    let mut live = Live::on(false);
    let mut edge = EdgeTaken {
        from: "grade_documents".to_owned(),
        to: "rewrite".to_owned(),
        outcome: "none_relevant".to_owned(),
        reason: "`grade_documents` ended in `none_relevant`".to_owned(),
        ..EdgeTaken::default()
    };
    assert!(shown(&mut live, &Event::EdgeTaken(edge.clone())).is_empty());
    edge.reason += " while `visits(grade_documents) <= max_count`";
    assert_eq!(
        shown(&mut live, &Event::EdgeTaken(edge)),
        ["  → rewrite, because none_relevant while `visits(grade_documents) <= max_count`"]
    );
}

#[test]
fn text_is_printed_in_whole_lines_without_a_terminal() {
    let mut live = Live::on(false);
    let mut text = |text: &str, attempt: u32| {
        let text = text.to_owned();
        shown(&mut live, &Event::TextDelta(TextDelta { text, attempt }))
    };
    assert!(text("Leave is ", 1).is_empty());
    assert_eq!(text("25 days.\nAsk\u{1b}", 1), ["  > Leave is 25 days."]);
    assert_eq!(text("Leave is 30 days.", 2), ["  > Ask␛"]);
    let sentence = Some(Sentence {
        text: "Leave is 30 days.".to_owned(),
        support: Support::NotSupported.into(),
        support_score: Some(0.1),
        ..Sentence::default()
    });
    let retracted = Event::SentenceRetracted(SentenceRetracted {
        sentence: sentence.clone(),
        attempt: 2,
    });
    assert_eq!(
        shown(&mut live, &retracted),
        ["  > Leave is 30 days.", "  ✗ Leave is 30 days. (not supported 0.10)"]
    );
    let committed = Event::SentenceCommitted(SentenceCommitted { sentence, attempt: 2 });
    assert!(shown(&mut live, &committed)[0].starts_with("  ✓ Leave is 30 days."));
}

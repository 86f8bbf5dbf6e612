use emend_proto::v1::Strip;

use super::*;

fn graded(id: &str, text: &str, score: f64) -> GradedPassage {
    GradedPassage {
        passage: Some(Passage {
            id: id.to_owned(),
            title: "Harbours".to_owned(),
            text: text.to_owned(),
            score,
            ..Passage::default()
        }),
        kept: true,
        content: PassageContent::Whole.into(),
        ..GradedPassage::default()
    }
}

fn step(passages: Vec<GradedPassage>) -> Step {
    Step {
        passages,
        ..Step::default()
    }
}

fn contents(step: &Step) -> Vec<(PassageContent, &str)> {
    let text = |graded: &'_ GradedPassage| graded.content();
    step.passages
        .iter()
        .map(|graded| (text(graded), graded.passage.as_ref().unwrap().text.as_str()))
        .collect()
}

#[test]
fn a_passage_is_carried_once_and_again_where_it_changed() {
    use PassageContent::{EarlierStep, Whole};
    let mut steps = Steps::default();
    let first = steps.record(step(vec![graded("a", "A.", 0.9), graded("b", "B.", 0.8)]));
    assert_eq!(contents(&first), [(Whole, "A."), (Whole, "B.")]);
    // Another query finds it with another score of its own, which says nothing about the passage.
    let second = steps.record(step(vec![graded("b", "B.", 0.5), graded("a", "A, refined.", 0.9)]));
    assert_eq!(contents(&second), [(EarlierStep, ""), (Whole, "A, refined.")]);
    assert_eq!(second.passages[0].passage.as_ref().unwrap().score, 0.5);
    let third = steps.record(step(vec![graded("a", "A, refined.", 0.9)]));
    assert_eq!(contents(&third), [(EarlierStep, "")]);
    // Its document was stored again.
    let mut moved = graded("a", "A, refined.", 0.9);
    moved.passage.as_mut().unwrap().headings = vec!["Page 3".to_owned()];
    let fourth = steps.record(step(vec![moved]));
    assert_eq!(contents(&fourth), [(Whole, "A, refined.")]);
    assert_eq!(steps.len(), 4);
}

#[test]
fn what_stands_in_the_documents_is_left_to_them() {
    use PassageContent::{Documents, EarlierStep, Whole};
    let mut steps = Steps::default();
    steps.record(step(vec![graded("a", "A.", 0.9), graded("b", "B.", 0.8)]));
    steps.record(step(vec![graded("a", "A, refined.", 0.9), graded("b", "B.", 0.8)]));
    let beside = steps.beside(&[graded("a", "A, refined.", 0.9), graded("b", "B.", 0.8)]);
    assert_eq!(contents(&beside[0]), [(Whole, "A."), (Documents, "")]);
    assert_eq!(contents(&beside[1]), [(Documents, ""), (EarlierStep, "")]);
}

#[test]
fn strips_stand_in_a_result_by_their_place() {
    let strip = |span| Strip {
        text: "A.".to_owned(),
        span,
        ..Strip::default()
    };
    let mut steps = Steps::default();
    let placed = Some(emend_proto::v1::Span { start: 0, end: 2 });
    let told = steps.record(Step {
        strips: vec![strip(placed), strip(None)],
        ..Step::default()
    });
    assert_eq!(told.strips[0].text, "A.", "a reader of the events sees it");
    let beside = steps.beside(&[]);
    let texts: Vec<&str> = beside[0].strips.iter().map(|strip| strip.text.as_str()).collect();
    assert_eq!(texts, ["", "A."]);
}

#[test]
fn a_long_walk_holds_no_more_than_a_result_can() {
    let mut steps = Steps::default();
    let text = "lighthouse ".repeat(6000);
    for visit in 0..100 {
        let passages = (0..10).map(|place| graded(&format!("{visit} {place}"), &text, 0.5));
        let told = steps.record(step(passages.collect()));
        assert!(
            told.passages
                .iter()
                .all(|graded| graded.passage.as_ref().unwrap().text == text)
        );
        let held: usize = steps.steps.iter().map(Step::encoded_len).sum();
        assert!(held <= MAX_RECORDED_BYTES, "{held}");
    }
    // What the walk shortened is still known for the same.
    let beside = steps.beside(&[graded("0 0", &text, 0.5)]);
    assert_eq!(beside[0].passages[0].content(), PassageContent::Documents);
    assert_eq!(beside[0].passages[1].content(), PassageContent::Shortened);
}

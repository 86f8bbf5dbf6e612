use emend_proto::v1::Span;

use super::super::candidates;
use super::*;
use emend_evaluator::SentenceScore;

/// A passage of the document `id` from its code point `start` on.
fn passage(id: &str, start: u32, text: &str) -> Passage {
    Passage {
        document_id: id.to_owned(),
        text: text.to_owned(),
        span: Some(Span {
            start,
            end: start + u32::try_from(text.chars().count()).unwrap(),
        }),
        ..Passage::default()
    }
}

/// What is quoted of `passages` where `sentence` of the one at `index` is chosen.
fn quoted(passages: &[Passage], index: usize, sentence: &str, most: usize) -> Vec<String> {
    let start = passages[index].text.find(sentence).unwrap();
    let scores = [SentenceScore {
        passage: index,
        range: start..start + sentence.len(),
        text: sentence.to_owned(),
        probability: 0.9,
        part: 0,
    }];
    let chosen = candidates("How is the still filled?", passages, &scores, 0.5, 0.5);
    let all = with_steps(chosen, passages, most).into_iter();
    all.map(|candidate| candidate.text).collect()
}

#[test]
fn a_list_goes_on_in_the_passages_beside_it() {
    let passages = [
        passage("a", 60, "3. Press start.\n4. Close the tap.\n\nThen call us."),
        passage("b", 0, "1. Never this.\n2. Nor that."),
        passage("a", 20, "Two ways.\n\n1. Open the tap.\n2. Wait."),
    ];
    let steps = ["1. Open the tap.", "2. Wait.", "3. Press start.", "4. Close the tap."];
    assert_eq!(quoted(&passages, 0, "4. Close the tap.", 9), steps);
    assert_eq!(quoted(&passages, 2, "2. Wait.", 9), steps);
    assert_eq!(quoted(&passages, 2, "2. Wait.", 3), ["2. Wait."]);
    let far = [passages[0].clone(), passage("a", 5000, "1. Open the tap.\n2. Wait.")];
    assert_eq!(quoted(&far, 0, "3. Press start.", 9), steps[2..]);
}

#[test]
fn the_code_of_a_step_is_quoted_with_it_and_another_list_is_not() {
    let text = "1. Drain it:\n\n   ```\n   pump --drain\n   pump --stop\n   ```\n\n   It hums.\n2. Wait.\n\nElsewhere.\n\n1. Other.\n";
    assert_eq!(
        quoted(&[passage("a", 0, text)], 0, "2. Wait.", 9),
        ["1. Drain it:", "pump --drain\n   pump --stop", "It hums.", "2. Wait."]
    );
    assert_eq!(quoted(&[passage("a", 0, text)], 0, "1. Other.", 9), ["1. Other."]);
    assert_eq!(quoted(&[passage("a", 0, text)], 0, "Elsewhere.", 9), ["Elsewhere."]);
}

//! Texts that cost the most: what is computed of each has a bound.

use super::*;
use crate::features::MAX_VIEW_SENTENCES;
use crate::groundedness::{PART_BYTES, QUOTED_PROBABILITY};

/// Texts of 32 KiB that make the square of their length of something that is not careful.
fn hostile() -> Vec<String> {
    let fill = |unit: &str| unit.repeat((32 << 10) / unit.len());
    vec![
        fill("same "),
        fill("x"),
        fill("? "),
        fill("a\n\n"),
        fill("# h\n\n"),
        fill("Aa Bb. "),
        fill("\"a "),
        fill("国国"),
        fill("3.5 "),
        fill("| a | b |\n"),
        fill("[a](b"),
        fill("***a"),
        fill("不是。"),
        (0..10_000).map(|number| format!("w{number} ")).collect(),
        (0..9_000).map(|number| format!("{number}. ")).collect(),
        format!("{}\n\n{}", fill("# long title "), "###### x\n\n".repeat(100)),
    ]
}

#[tokio::test]
async fn the_worst_texts_are_judged() {
    let evaluator = evaluator();
    let question: String = "Where Aa Bb 国国 when 3.5 same not who ".repeat(200);
    let question = &question[..question.floor_char_boundary(8 << 10)];
    for text in hostile() {
        let beginning: String = text.chars().take(60).collect();
        let passages = [PassageText {
            title: &text,
            ..PassageText::from(text.as_str())
        }];
        let relevance = evaluator.relevance(question, &passages).await.unwrap();
        assert!((0.0..=1.0).contains(&relevance[0]), "{beginning}");
        let sentences = evaluator.best_sentences(question, &passages).await.unwrap();
        assert!(
            sentences.len() <= MAX_VIEW_SENTENCES * 64,
            "{beginning}: {}",
            sentences.len()
        );
        let grounded = evaluator.groundedness(question, &text, &[&text]).await.unwrap();
        assert_eq!(grounded.passage, Some(0), "{beginning}");
        evaluator.usefulness(question, &text, &passages).await.unwrap();
    }
}

#[tokio::test]
async fn what_is_known_when_a_call_is_dropped_stays() {
    let evaluator = evaluator();
    let sentences = ["Ninety steps.", "A door.", "A lamp."];
    let mut grounded = Vec::new();
    evaluator
        .ground("How many?", &sentences, &["There are ninety steps."], &mut grounded)
        .await
        .unwrap();
    assert_eq!(grounded.len(), 3);
    let alone = evaluator
        .groundedness("How many?", "A door.", &["There are ninety steps."])
        .await;
    assert_eq!(alone.unwrap(), grounded[1]);

    // Dropped before its first piece: nothing is known, and nothing is computed any more.
    let mut none = Vec::new();
    drop(evaluator.ground("How many?", &sentences, &["There are ninety steps."], &mut none));
    assert!(none.is_empty());
}

#[tokio::test]
async fn evidence_in_parts_is_judged_as_a_whole() {
    let evaluator = evaluator();
    let filler = "Gulls count the keeper. ".repeat((PART_BYTES / 24) + 1);
    let evidence = [
        filler.as_str(),
        "The tower has ninety steps.",
        filler.as_str(),
        "Nothing.",
    ];
    let mut grounded = Vec::new();
    let claims = ["The tower has ninety steps.", "Gulls count the keeper."];
    evaluator
        .ground("How many steps?", &claims, &evidence, &mut grounded)
        .await
        .unwrap();
    assert_eq!(grounded[0].passage, Some(1), "{grounded:?}");
    assert!(
        grounded
            .iter()
            .all(|grounded| grounded.probability >= QUOTED_PROBABILITY)
    );
}

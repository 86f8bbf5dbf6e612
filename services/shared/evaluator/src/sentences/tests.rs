use super::*;
use crate::tests::evaluator;

async fn probabilities(question: &str, page: &str) -> Vec<(String, f64)> {
    let evaluator = evaluator();
    let passages = [PassageText::from(page)];
    let scores = evaluator.best_sentences(question, &passages).await.unwrap().into_iter();
    scores.map(|score| (score.text, score.probability)).collect()
}

async fn probability(question: &str, page: &str, start: &str) -> f64 {
    let scores = probabilities(question, page).await;
    let found = scores.iter().find(|(text, _)| text.contains(start));
    found.map(|(_, probability)| *probability).unwrap()
}

const KEY: &str = "Ada Marsh keeps the red key.";
const OFFICE: &str = "The office of Ness opens in 1998.";

#[tokio::test]
async fn each_part_of_a_question_is_answered_by_a_sentence_of_its_own() {
    let question = "Who keeps the red key, and when does the office of Ness open?";
    let page = format!("{KEY} {OFFICE} Gulls like the roof.");
    let evaluator = evaluator();
    let passages = [PassageText::from(page.as_str())];
    let scores = evaluator.best_sentences(question, &passages).await.unwrap();
    assert_eq!(scores.len(), 3, "each sentence once");
    let of = |text: &str| scores.iter().find(|score| score.text == text).unwrap();
    assert_eq!((of(KEY).part, of(OFFICE).part), (0, 1));
    let alone = probability("Who keeps the red key", &page, KEY).await;
    assert!((of(KEY).probability - alone).abs() < 1e-9);
}

#[tokio::test]
async fn an_answer_is_as_useful_as_its_worst_part() {
    let question = "Who keeps the red key, and when does the office of Ness open?";
    let page = format!("{KEY} {OFFICE} Gulls like the roof.");
    let useful = |answer: String| {
        let page = page.clone();
        async move {
            let passages = [PassageText::from(page.as_str())];
            let usefulness = evaluator().usefulness(question, &answer, &passages).await;
            usefulness.unwrap().probability
        }
    };
    let (both, one) = (useful(format!("{KEY} {OFFICE}")).await, useful(KEY.to_owned()).await);
    assert!(both > one, "{both} {one}");
}

#[tokio::test]
async fn how_a_command_is_called_is_no_answer() {
    let page = "grep [-n] [-A num] [-B num] pattern [file ...]\n\nThe command grep finds lines.";
    assert_eq!(probability("What does grep find?", page, "[-n]").await, 0.0);
    assert!(probability("What does grep find?", page, "finds lines").await > 0.0);
    assert!(!features::is_usage("-n, --line-number  prints the number of each line"));
    assert!(!features::is_usage("It is sold - if at all - by weight."));
}

/// What the model alone says of the first sentence, and its group of languages.
async fn alone(question: &str, page: &str) -> (f64, &'static str) {
    let pair = crate::Pair::Answer {
        question,
        passage: page.into(),
    };
    let explained = evaluator().explain(pair).await.unwrap();
    (explained[0].probability, explained[0].group)
}

#[tokio::test]
async fn code_answers_less_where_the_question_does_not_ask_how() {
    let page = "```\npump --open tank\n```\n";
    for (question, share) in [
        ("Which pump opens the green tank?", CODE),
        ("How is the green tank of the pump opened?", 1.0),
    ] {
        let served = probability(question, page, "pump").await;
        let (alone, _) = alone(question, page).await;
        assert!((served - share * alone).abs() < 1e-9, "{question} {served} {alone}");
    }
}

#[tokio::test]
async fn a_heading_with_the_version_and_a_date_says_when_it_was_released() {
    let page = "## 2.1.0 (2024-05-06)\n\nThe pump is quieter.\n";
    for (question, expected) in [
        ("When was 2.1.0 released?", RESTATEMENT_PROBABILITY),
        ("When was 3.0 released?", 0.0),
        ("What is new in 2.1.0?", 0.0),
    ] {
        assert_eq!(probability(question, page, "2.1.0").await, expected, "{question}");
    }
}

#[tokio::test]
async fn a_sentence_in_another_language_is_less_likely_to_answer() {
    let asked = "What does the BX-200 cost?";
    let page = "BX-200 는 BX-200 BX-200 cost 가격은 900 이다.";
    let (alone, group) = alone(asked, page).await;
    assert_eq!(group, "cross");
    let served = probability(asked, page, "BX-200").await;
    assert!((served - OTHER_LANGUAGE * alone).abs() < 1e-9);
}

use std::time::Duration;

use emend_core::Deadline;
use emend_evaluator::Coefficients;
use emend_models::embed::HashedEmbedder;
use tokio_util::sync::CancellationToken;

use super::*;

#[tokio::test]
async fn a_sentence_is_scored_with_the_headings_above_it() {
    let embedder = Arc::new(HashedEmbedder);
    // The coefficients of the hashed embedder pass over titles.
    let coefficients = Coefficients::builtin("multilingual-e5-small").unwrap();
    let backend = ExtractiveBackend::new(embedder.clone(), Evaluator::new(embedder, coefficients), 1);
    let score = async |title: &str, headings: &[&str]| {
        let request = GenerateRequest {
            question: "Who designed the lighthouse of Corran Point?".to_owned(),
            passages: vec![Passage {
                title: title.to_owned(),
                headings: headings.iter().map(|&heading| heading.to_owned()).collect(),
                text: "It was designed by Ada Marsh.".to_owned(),
                ..Passage::default()
            }],
            ..GenerateRequest::default()
        };
        let scope = Scope {
            deadline: Deadline::after(Duration::from_secs(600)),
            cancel: CancellationToken::new(),
        };
        let (scores, _) = backend.scores(&request, &scope).await.unwrap();
        scores[0].probability
    };
    let under = score("Towers", &["The lighthouse of Corran Point"]).await;
    assert_eq!(under, score("Towers › The lighthouse of Corran Point", &[]).await);
    let alone = score("Towers", &[]).await;
    assert!(under > alone, "{under} {alone}");
}

#[test]
fn guesses_have_a_line_each_and_sentences_of_one_paragraph_share_it() {
    let texts = ["Gulls nest on the roof. Fog is common.", "The lamp is lit at six."];
    let passages = texts.map(|text| Passage {
        text: text.to_owned(),
        ..Passage::default()
    });
    let sentences = [(0, "Gulls nest on the roof."), (0, "Fog is common."), (1, texts[1])];
    let scores = sentences.map(|(passage, sentence)| {
        let start = texts[passage].find(sentence).unwrap();
        SentenceScore {
            passage,
            range: start..start + sentence.len(),
            text: sentence.to_owned(),
            probability: 0.4,
            part: 0,
        }
    });
    let found = selection::candidates("When does the harbour open?", &passages, &scores, 0.1, 0.5);
    let [roof, fog, lamp] = &found[..] else {
        panic!("{found:?}")
    };
    assert!(found.iter().all(|candidate| candidate.is_unlikely));
    let between = |before, next, are_guesses| separator("said.", Some(before), next, are_guesses);
    assert_eq!((between(roof, fog, true), between(fog, lamp, true)), (" ", "\n"));
    assert_eq!(between(fog, lamp, false), " ", "they answer together");
}

#[test]
fn rows_of_a_table_have_a_line_each() {
    let text = "| 品番 | 納期 |\n| --- | --- |\n| KX-17 | 三日 |\n| HM-300 | 十日 |\n";
    let passages = [Passage {
        text: text.to_owned(),
        ..Passage::default()
    }];
    let rows = [
        ("| KX-17 | 三日 |", "品番: KX-17; 納期: 三日"),
        ("| HM-300 | 十日 |", "品番: HM-300; 納期: 十日"),
    ];
    let scores = rows.map(|(row, said)| {
        let start = text.find(row).unwrap();
        SentenceScore {
            passage: 0,
            range: start..start + row.len(),
            text: said.to_owned(),
            probability: 0.9,
            part: 0,
        }
    });
    let found = selection::candidates("納期は何日ですか?", &passages, &scores, 0.1, 0.5);
    let [first, second] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(separator(&first.text, Some(first), second, false), "\n");
}

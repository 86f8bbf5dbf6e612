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

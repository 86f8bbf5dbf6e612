//! Embedders with weights of their own for questions and answers.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use emend_models::embed::{EmbedError, Embedding, HashedEmbedder, Input, Token, TokenVectors};

use super::*;

/// Notes what is embedded.
struct Noting {
    adapts: bool,
    embedded: Mutex<Vec<(Input, String)>>,
}

impl Noting {
    fn evaluator(adapts: bool) -> (Arc<Self>, Evaluator) {
        let embedder = Arc::new(Self {
            adapts,
            embedded: Mutex::default(),
        });
        // The coefficients of a model with an adapter, which use cosines.
        let coefficients = Coefficients::builtin("multilingual-e5-small").unwrap();
        (embedder.clone(), Evaluator::new(embedder, coefficients))
    }

    fn texts(&self, kind: Input) -> Vec<String> {
        let mut embedded = self.embedded.lock().unwrap_or_else(PoisonError::into_inner);
        let own = embedded.extract_if(.., |(own, _)| *own == kind);
        own.map(|(_, text)| text).collect()
    }
}

impl Embedder for Noting {
    fn id(&self) -> &str {
        "noting"
    }

    fn dimensions(&self) -> usize {
        HashedEmbedder.dimensions()
    }

    fn max_tokens(&self) -> usize {
        HashedEmbedder.max_tokens()
    }

    fn adapts_to_answers(&self) -> bool {
        self.adapts
    }

    fn count_tokens(&self, text: &str) -> usize {
        HashedEmbedder.count_tokens(text)
    }

    fn embed<'a>(
        &'a self,
        kind: Input,
        texts: Vec<String>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<Embedding>, EmbedError>> + Send + 'a>> {
        let mut embedded = self.embedded.lock().unwrap_or_else(PoisonError::into_inner);
        embedded.extend(texts.iter().map(|text| (kind, text.clone())));
        Box::pin(async move { HashedEmbedder.embed(kind, texts).await })
    }

    fn embed_tokens<'a>(
        &'a self,
        kind: Input,
        texts: Vec<Vec<String>>,
    ) -> Pin<Box<dyn Future<Output = Result<Option<Vec<Arc<TokenVectors>>>, EmbedError>> + Send + 'a>> {
        if !matches!(kind, Input::Question | Input::Answer) {
            return Box::pin(std::future::ready(Ok(None)));
        }
        let mut embedded = self.embedded.lock().unwrap_or_else(PoisonError::into_inner);
        embedded.extend(texts.iter().flatten().map(|text| (kind, text.clone())));
        Box::pin(async move {
            let mut all = Vec::new();
            for pieces in texts {
                let rows = HashedEmbedder.embed(Input::Passage, pieces.clone()).await?;
                let token = |(piece, text): (usize, &String)| Token {
                    text: text.as_str().into(),
                    piece,
                };
                let tokens = pieces.iter().enumerate().map(token).collect();
                let width = HashedEmbedder.dimensions();
                let whole = rows.first().cloned().unwrap_or_else(|| vec![0.0; width].into());
                all.push(Arc::new(TokenVectors::new(
                    width,
                    tokens,
                    &rows.concat(),
                    pieces.len(),
                    whole,
                )));
            }
            Ok(Some(all))
        })
    }
}

const ASKED: &str = "When was the boiler installed?";
const HEATING: &str = "## Heating\n\nThe boiler was installed in 2019. It heats twelve flats.";

#[tokio::test]
async fn sentences_are_read_together_behind_their_heading() {
    let (embedder, evaluator) = Noting::evaluator(true);
    evaluator.best_sentences(ASKED, &[HEATING.into()]).await.unwrap();
    assert_eq!(embedder.texts(Input::Question), [ASKED]);
    let answers = embedder.texts(Input::Answer);
    assert_eq!(
        answers,
        [
            "Heating:",
            "The boiler was installed in 2019.",
            "It heats twelve flats."
        ]
    );
    // Nothing is embedded a second time, without the adapter.
    assert!(embedder.texts(Input::Claim).is_empty() && embedder.texts(Input::Evidence).is_empty());

    evaluator.relevance(ASKED, &[HEATING.into()]).await.unwrap();
    assert_eq!(embedder.texts(Input::Answer), answers);
}

#[tokio::test]
async fn claims_and_embedders_without_an_adapter_compare_bare_sentences() {
    let (embedder, evaluator) = Noting::evaluator(true);
    let claim = "The boiler heats twelve flats.";
    evaluator.groundedness(ASKED, claim, &[HEATING]).await.unwrap();
    assert!(embedder.texts(Input::Answer).is_empty() && embedder.texts(Input::Question).is_empty());

    let (embedder, evaluator) = Noting::evaluator(false);
    evaluator.best_sentences(ASKED, &[HEATING.into()]).await.unwrap();
    assert!(embedder.texts(Input::Answer).is_empty() && embedder.texts(Input::Question).is_empty());
    assert!(
        embedder
            .texts(Input::Evidence)
            .contains(&"It heats twelve flats.".to_owned())
    );
}

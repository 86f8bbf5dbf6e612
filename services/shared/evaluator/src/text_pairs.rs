//! Analyzed pairs of texts, with embeddings if a model uses cosine features.

use super::coefficients::Task;
use super::features::{Cosines, Group, Late, Question, View};
use super::{EvaluateError, Evaluator, PassageText, compute};
use emend_models::embed::{Embedding, Input, cosine};
use emend_text as text;

/// Maximum embedded sentences per section. Of a longer section, the sentences with most of the question's words are
/// embedded; the others get the passage's cosine.
pub(super) const MAX_SENTENCES: usize = 48;

/// A section of a passage. A passage with several headings covers several subjects, so each section is judged
/// separately.
pub(super) struct Section<'t> {
    /// The index of the passage.
    pub(super) passage: usize,
    /// The byte offset of the section in the passage.
    pub(super) start: usize,
    /// The section's text, with the title and rank of its passage.
    pub(super) titled: PassageText<'t>,
}

/// The sections of all passages, in order. An empty passage has none.
pub(super) fn sections<'t>(passages: &[PassageText<'t>]) -> Vec<Section<'t>> {
    let mut all = Vec::new();
    for (passage, whole) in passages.iter().enumerate() {
        for text::Section { range, .. } in text::sections(whole.text) {
            let start = range.start;
            let text = whole.text.get(range).unwrap_or_default();
            let titled = PassageText { text, ..*whole };
            all.push(Section { passage, start, titled });
        }
    }
    all
}

/// The second text of a pair, analyzed.
pub(super) struct TextPair {
    pub(super) group: Group,
    pub(super) view: View,
    /// The indices of the embedded sentences.
    embedded: Vec<usize>,
    pub(super) cosines: Option<Cosines>,
}

impl TextPair {
    fn new(task: Task, first: &str, passage: PassageText<'_>) -> Self {
        let text = passage.text;
        let group = match task {
            Task::GroundedFragment => Group::of_fragment(first, text),
            Task::UsefulFragment => Group::of_fragment(text, first),
            _ => Group::of(first, text),
        };
        Self {
            group,
            view: View::of_passage(passage),
            embedded: Vec::new(),
            cosines: None,
        }
    }
}

impl Evaluator {
    /// Pairs the first text with each of the others, with cosines if a model of the task uses them.
    pub(super) async fn pairs(
        &self,
        task: Task,
        first: Question,
        others: impl IntoIterator<Item = PassageText<'_>>,
    ) -> Result<(Question, Vec<TextPair>), EvaluateError> {
        let coefficients = self.coefficients();
        let others = others.into_iter();
        let pairs: Vec<TextPair> = others.map(|other| TextPair::new(task, first.text(), other)).collect();
        if pairs.iter().any(|pair| coefficients.needs_cosines(task, pair.group)) {
            return self.embedded(first, pairs).await;
        }
        Ok((first, pairs))
    }

    /// Like [`pairs`](Self::pairs), but always with cosines.
    pub(super) async fn embedded_pairs(
        &self,
        task: Task,
        first: Question,
        others: impl IntoIterator<Item = PassageText<'_>>,
    ) -> Result<(Question, Vec<TextPair>), EvaluateError> {
        let others = others.into_iter();
        let pairs = others.map(|other| TextPair::new(task, first.text(), other)).collect();
        self.embedded(first, pairs).await
    }

    async fn embedded(
        &self,
        first: Question,
        mut pairs: Vec<TextPair>,
    ) -> Result<(Question, Vec<TextPair>), EvaluateError> {
        if pairs.is_empty() {
            return Ok((first, pairs));
        }
        let (query, passages) = self.embed_whole(first.text(), &pairs).await?;
        let mut texts = Vec::new();
        for pair in pairs.iter_mut().filter(|pair| pair.view.sentences.len() > 1) {
            pair.embedded = first.closest(&pair.view, MAX_SENTENCES);
            let sentences = pair.embedded.iter().map(|index| pair.view.sentence(*index));
            texts.extend(sentences.map(str::to_owned));
        }
        let embeddings = self.embedder.embed(Input::Passage, texts).await?;
        let mut cosines = embeddings
            .iter()
            .map(|embedding: &Embedding| f64::from(cosine(&query, embedding)));
        for (pair, (passage, late)) in pairs.iter_mut().zip(passages) {
            let mut sentences = vec![passage; pair.view.sentences.len()];
            for index in &pair.embedded {
                sentences[*index] = cosines.next().unwrap_or_default();
            }
            pair.cosines = Some(Cosines {
                passage,
                sentences,
                late,
            });
        }
        Ok((first, pairs))
    }

    /// The embedding of `first`, and for each text its cosine with it as a whole, and per token if the embedder returns
    /// token vectors.
    async fn embed_whole(
        &self,
        first: &str,
        pairs: &[TextPair],
    ) -> Result<(Embedding, Vec<(f64, Option<Late>)>), EvaluateError> {
        let asked = vec![vec![first.to_owned()]];
        let tokens = self.embedder.embed_tokens(Input::Query, asked).await?;
        if let Some(query) = tokens.and_then(|tokens| tokens.into_iter().next()) {
            let texts = pairs.iter().map(|pair| pair.view.sentence_texts()).collect();
            let passages = self
                .embedder
                .embed_tokens(Input::Passage, texts)
                .await?
                .unwrap_or_default();
            let whole = query.whole().clone();
            let near = compute(move || {
                let near = passages.iter().map(|passage| {
                    let late = Late::new(&query, passage, passage.means().len());
                    (f64::from(cosine(query.whole(), passage.whole())), late)
                });
                near.collect()
            });
            return Ok((whole, near.await?));
        }
        let query = self.embedder.embed(Input::Query, vec![first.to_owned()]).await?;
        let query = query.into_iter().next().ok_or(EvaluateError::Stopped)?;
        let texts = pairs.iter().map(|pair| pair.view.text.clone()).collect();
        let passages = self.embedder.embed(Input::Passage, texts).await?;
        let near = passages
            .iter()
            .map(|passage| (f64::from(cosine(&query, passage)), None))
            .collect();
        Ok((query, near))
    }
}

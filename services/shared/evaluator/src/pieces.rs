//! Pairs of texts taken apart, and embedded where a model asks for it.

use super::coefficients::Task;
use super::features::{Cosines, Group, Late, Question, View};
use super::{EvaluateError, Evaluator, compute};
use emend_models::embed::{Embedding, Input, cosine};
use emend_text as text;

/// Sentences of one section that are embedded; those beyond have fewer words of the question and no cosine of their own.
pub(super) const MAX_SENTENCES: usize = 48;

/// A passage under several headings is about several things, so each of its sections is judged by itself.
pub(super) struct Section<'t> {
    /// The passage's place.
    pub(super) passage: usize,
    /// Its first byte in the passage.
    pub(super) start: usize,
    pub(super) text: &'t str,
}

/// The sections of all passages, in order; an empty passage has none.
pub(super) fn sections<'t>(passages: &[&'t str]) -> Vec<Section<'t>> {
    let mut all = Vec::new();
    for (passage, text) in passages.iter().enumerate() {
        for text::Section { range, .. } in text::sections(text) {
            let start = range.start;
            let text = text.get(range).unwrap_or_default();
            all.push(Section { passage, start, text });
        }
    }
    all
}

/// A text of a pair, taken apart.
pub(super) struct Pieces {
    pub(super) group: Group,
    pub(super) view: View,
    /// The places of the sentences that are embedded.
    embedded: Vec<usize>,
    pub(super) cosines: Option<Cosines>,
}

impl Pieces {
    fn new(task: Task, first: &str, text: &str) -> Self {
        let group = match task {
            Task::GroundedFragment => Group::of_fragment(first, text),
            Task::UsefulFragment => Group::of_fragment(text, first),
            _ => Group::of(first, text),
        };
        Self {
            group,
            view: View::new(text),
            embedded: Vec::new(),
            cosines: None,
        }
    }
}

impl Evaluator {
    /// The first text against each of the others, embedded where the task's models want cosines.
    pub(super) async fn pairs(
        &self,
        task: Task,
        first: Question,
        others: impl IntoIterator<Item = &str>,
    ) -> Result<(Question, Vec<Pieces>), EvaluateError> {
        let coefficients = self.coefficients();
        let others = others.into_iter();
        let pieces: Vec<Pieces> = others.map(|other| Pieces::new(task, first.text(), other)).collect();
        if pieces.iter().any(|piece| coefficients.needs_cosines(task, piece.group)) {
            return self.embedded(first, pieces).await;
        }
        Ok((first, pieces))
    }

    /// The same, embedded whether a model wants it or not.
    pub(super) async fn embedded_pairs(
        &self,
        task: Task,
        first: Question,
        others: impl IntoIterator<Item = &str>,
    ) -> Result<(Question, Vec<Pieces>), EvaluateError> {
        let others = others.into_iter();
        let pieces = others.map(|other| Pieces::new(task, first.text(), other)).collect();
        self.embedded(first, pieces).await
    }

    async fn embedded(
        &self,
        first: Question,
        mut pieces: Vec<Pieces>,
    ) -> Result<(Question, Vec<Pieces>), EvaluateError> {
        if pieces.is_empty() {
            return Ok((first, pieces));
        }
        let (query, passages) = self.whole(first.text(), &pieces).await?;
        let mut texts = Vec::new();
        for piece in pieces.iter_mut().filter(|piece| piece.view.sentences.len() > 1) {
            piece.embedded = first.closest(&piece.view, MAX_SENTENCES);
            let sentences = piece.embedded.iter().map(|index| piece.view.sentence(*index));
            texts.extend(sentences.map(str::to_owned));
        }
        let embeddings = self.embedder.embed(Input::Passage, texts).await?;
        let mut near = embeddings
            .iter()
            .map(|embedding: &Embedding| f64::from(cosine(&query, embedding)));
        for (piece, (passage, late)) in pieces.iter_mut().zip(passages) {
            let mut sentences = vec![passage; piece.view.sentences.len()];
            for index in &piece.embedded {
                sentences[*index] = near.next().unwrap_or_default();
            }
            piece.cosines = Some(Cosines {
                passage,
                sentences,
                late,
            });
        }
        Ok((first, pieces))
    }

    /// The embedding of `first`, and for each of the texts its cosine with it as a whole, and token by token where the
    /// embedder shows its tokens.
    async fn whole(
        &self,
        first: &str,
        pieces: &[Pieces],
    ) -> Result<(Embedding, Vec<(f64, Option<Late>)>), EvaluateError> {
        let asked = vec![vec![first.to_owned()]];
        let tokens = self.embedder.embed_tokens(Input::Query, asked).await?;
        if let Some(query) = tokens.and_then(|tokens| tokens.into_iter().next()) {
            let texts = pieces.iter().map(|piece| piece.view.pieces()).collect();
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
        let texts = pieces.iter().map(|piece| piece.view.text.clone()).collect();
        let passages = self.embedder.embed(Input::Passage, texts).await?;
        let near = passages
            .iter()
            .map(|passage| (f64::from(cosine(&query, passage)), None))
            .collect();
        Ok((query, near))
    }
}

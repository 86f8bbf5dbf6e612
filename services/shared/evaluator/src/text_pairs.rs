//! Analyzed pairs of texts, with embeddings if a model uses cosine features.
//!
//! All of it is computed in pieces, each in its turn (see [`Turns`]).

use std::sync::Arc;

use super::answers::{self, TOKEN_BYTES};
use super::coefficients::Task;
use super::features::{Cosines, Group, Late, Question, View};
use super::{EvaluateError, Evaluator, PassageText};
use emend_core::Turns;
use emend_models::embed::{Embedding, Input, TokenVectors, cosine};
use emend_text as text;

/// Maximum embedded sentences per section. Of a longer section, the sentences with most of the question's words are
/// embedded; the others get the passage's cosine, or that of the least similar one where sentences are read as answers.
pub(super) const MAX_SENTENCES: usize = 48;
/// Most sections of a passage. The last one holds what is left of a passage with more headings.
const MAX_SECTIONS: usize = 64;

/// A passage that outlives its caller's borrow, for another thread.
pub(super) struct OwnedPassage {
    title: String,
    text: String,
    rank: usize,
    unnamed: f64,
}

impl From<PassageText<'_>> for OwnedPassage {
    fn from(passage: PassageText<'_>) -> Self {
        Self {
            title: passage.title.to_owned(),
            text: passage.text.to_owned(),
            rank: passage.rank,
            unnamed: passage.unnamed,
        }
    }
}

impl OwnedPassage {
    fn borrowed(&self) -> PassageText<'_> {
        PassageText {
            title: &self.title,
            text: &self.text,
            rank: self.rank,
            unnamed: self.unnamed,
        }
    }
}

/// An analyzed section of a passage. A passage with several headings covers several subjects, so each section is judged
/// separately.
#[derive(Clone)]
pub(super) struct Section {
    /// The index of the passage.
    pub(super) passage: usize,
    /// The byte offset of the section in the passage.
    pub(super) start: usize,
    /// The section's text, with all else that is known of its passage.
    pub(super) view: Arc<View>,
}

impl Section {
    pub(super) fn size(&self) -> usize {
        self.view.text.len()
    }
}

/// The sections of all passages, analyzed, in order. A passage without text has none.
pub(super) async fn sections(passages: &[PassageText<'_>]) -> Result<Vec<Section>, EvaluateError> {
    let owned: Vec<(usize, OwnedPassage)> = passages.iter().map(|passage| (*passage).into()).enumerate().collect();
    let analyzed = Turns::shared().each(
        owned,
        |(_, passage)| passage.text.len(),
        |(index, passage)| of_passage(index, &passage),
    );
    Ok(analyzed.await?.into_iter().flatten().collect())
}

pub(super) fn of_passage(passage: usize, whole: &OwnedPassage) -> Vec<Section> {
    let ranges = text::section_ranges(&whole.text, MAX_SECTIONS).into_iter();
    let sections = ranges.filter_map(|range| {
        let text = whole.text.get(range.clone()).filter(|text| !text.trim().is_empty())?;
        let section = PassageText {
            text,
            ..whole.borrowed()
        };
        Some(Section {
            passage,
            start: range.start,
            view: Arc::new(View::of_passage(section)),
        })
    });
    sections.collect()
}

/// A text as it is, analyzed.
pub(super) async fn whole(passage: PassageText<'_>) -> Result<Vec<Section>, EvaluateError> {
    let passage = OwnedPassage::from(passage);
    let view = Turns::shared().piece(passage.text.len(), move || View::of_passage(passage.borrowed()));
    Ok(vec![Section {
        passage: 0,
        start: 0,
        view: Arc::new(view.await?),
    }])
}

/// A question or a claim, analyzed.
pub(super) async fn question(text: &str) -> Result<Arc<Question>, EvaluateError> {
    let text = text.to_owned();
    let analyzed = Turns::shared().piece(text.len(), move || Question::new(&text));
    Ok(Arc::new(analyzed.await?))
}

/// The parts of a question, analyzed; at least one.
pub(super) async fn parts(whole: &str) -> Result<Vec<Arc<Question>>, EvaluateError> {
    let whole = whole.to_owned();
    let analyzed = Turns::shared().piece(whole.len(), move || {
        let parts = text::parts(&whole).into_iter();
        parts.map(|part| Arc::new(Question::new(&part))).collect()
    });
    Ok(analyzed.await?)
}

/// The second text of a pair.
#[derive(Clone)]
pub(super) struct TextPair {
    pub(super) group: Group,
    pub(super) section: Section,
    pub(super) cosines: Option<Cosines>,
}

impl TextPair {
    fn new(task: Task, first: &str, section: &Section) -> Self {
        let text = section.view.text.as_str();
        let group = match task {
            Task::GroundedFragment => Group::of_fragment(first, text),
            Task::UsefulFragment => Group::of_fragment(text, first),
            _ => Group::of(first, text),
        };
        Self {
            group,
            section: section.clone(),
            cosines: None,
        }
    }
}

/// What is known of a text as a whole: its cosine with the question, and the similarity of their tokens.
type Near = (f64, Option<Late>);

impl Evaluator {
    /// Pairs the first text with each of the others, with cosines if a model of the task uses them or `always`.
    pub(super) async fn pairs(
        &self,
        task: Task,
        first: &Arc<Question>,
        others: &[Section],
        always: bool,
    ) -> Result<Vec<TextPair>, EvaluateError> {
        let coefficients = self.coefficients();
        let mut pairs: Vec<TextPair> = others
            .iter()
            .map(|other| TextPair::new(task, first.text(), other))
            .collect();
        let needs = always || pairs.iter().any(|pair| coefficients.needs_cosines(task, pair.group));
        if needs && !pairs.is_empty() {
            self.embed(task, first, &mut pairs).await?;
        }
        Ok(pairs)
    }

    /// Computes `work` of each pair, in order.
    pub(super) async fn judged<T: Send + 'static>(
        pairs: Vec<TextPair>,
        work: impl Fn(&TextPair) -> T + Clone + Send + 'static,
    ) -> Result<Vec<T>, EvaluateError> {
        let judged = Turns::shared().each(pairs, |pair| pair.section.size(), move |pair| work(&pair));
        Ok(judged.await?)
    }

    async fn embed(&self, task: Task, first: &Arc<Question>, pairs: &mut [TextPair]) -> Result<(), EvaluateError> {
        let sections = pairs.iter().map(|pair| pair.section.clone()).collect();
        if matches!(task, Task::Relevance | Task::Answer) && self.embedder.adapts_to_answers() {
            let read = answers::similarities(&self.embedder, first, sections).await?;
            for (pair, cosines) in pairs.iter_mut().zip(read) {
                pair.cosines = Some(cosines);
            }
            return Ok(());
        }
        let (query, passages) = self.embed_whole(first.text(), pairs).await?;
        let wholes = passages.iter().map(|(whole, _)| *whole).collect();
        let sentences = self.sentence_cosines(&query, first, sections, wholes).await?;
        for ((pair, (passage, late)), sentences) in pairs.iter_mut().zip(passages).zip(sentences) {
            pair.cosines = Some(Cosines {
                passage,
                sentences,
                late,
            });
        }
        Ok(())
    }

    /// The cosine of `query` with each sentence of each section; that of the section for sentences that are not embedded.
    async fn sentence_cosines(
        &self,
        query: &Embedding,
        first: &Arc<Question>,
        sections: Vec<Section>,
        wholes: Vec<f64>,
    ) -> Result<Vec<Vec<f64>>, EvaluateError> {
        let counts: Vec<usize> = sections.iter().map(|section| section.view.sentences.len()).collect();
        let closest = {
            let first = Arc::clone(first);
            let closest = move |section: Section| {
                let view = &section.view;
                if view.sentences.len() < 2 {
                    return Vec::new();
                }
                let places = first.closest(view, MAX_SENTENCES).into_iter();
                places.map(|index| (index, view.sentence(index).to_owned())).collect()
            };
            Turns::shared().each(sections, Section::size, closest).await?
        };
        let texts = closest.iter().flatten().map(|(_, text)| text.clone()).collect();
        let embeddings = self.embedder.embed(Input::Evidence, texts).await?;
        let mut cosines = embeddings.iter().map(|embedding| f64::from(cosine(query, embedding)));
        let of_section = |((closest, count), whole): ((Vec<(usize, String)>, usize), f64)| {
            let mut sentences = vec![whole; count];
            for ((index, _), cosine) in closest.into_iter().zip(cosines.by_ref()) {
                if let Some(slot) = sentences.get_mut(index) {
                    *slot = cosine;
                }
            }
            sentences
        };
        Ok(closest.into_iter().zip(counts).zip(wholes).map(of_section).collect())
    }

    /// The embedding of `first`, and for each text its cosine with it as a whole, and per token if the embedder returns
    /// token vectors.
    async fn embed_whole(&self, first: &str, pairs: &[TextPair]) -> Result<(Embedding, Vec<Near>), EvaluateError> {
        let asked = vec![vec![first.to_owned()]];
        let tokens = self.embedder.embed_tokens(Input::Claim, asked).await?;
        if let Some(query) = tokens.and_then(|tokens| tokens.into_iter().next()) {
            let texts = pairs.iter().map(|pair| pair.section.view.sentence_texts()).collect();
            let passages = self
                .embedder
                .embed_tokens(Input::Evidence, texts)
                .await?
                .unwrap_or_default();
            let whole = query.whole().clone();
            let near = move |passage: Arc<TokenVectors>| {
                let late = Late::new(&query, &passage, passage.pieces());
                (f64::from(cosine(query.whole(), passage.whole())), late)
            };
            // Each token is compared with each of the question's, which takes longer than its text.
            let bytes = |passage: &Arc<TokenVectors>| passage.tokens().len() * TOKEN_BYTES;
            return Ok((whole, Turns::shared().each(passages, bytes, near).await?));
        }
        let query = self.embedder.embed(Input::Claim, vec![first.to_owned()]).await?;
        let query = query.into_iter().next().ok_or(EvaluateError::Stopped)?;
        let texts = pairs.iter().map(|pair| pair.section.view.text.clone()).collect();
        let passages = self.embedder.embed(Input::Evidence, texts).await?;
        let near = passages
            .iter()
            .map(|passage| (f64::from(cosine(&query, passage)), None))
            .collect();
        Ok((query, near))
    }
}

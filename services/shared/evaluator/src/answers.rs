//! How well sentences answer a question, by an embedder that has learned it.
//!
//! Sentences are embedded together, behind their heading (late chunking, Günther et al. 2024): each is read with what stands around
//! it, which a pronoun or a bare value needs.

use std::ops::Range;
use std::sync::Arc;

use emend_core::Turns;
use emend_models::embed::{Embedder, Input, TokenVectors};

use super::features::{Cosines, Late, Question, View};
use super::text_pairs::{MAX_SENTENCES, Section, of_passage};
use super::{AnswerSection, EvaluateError, PassageText};

/// Tokens that are embedded together. The weights were fitted on windows of up to 192, with prefix and special tokens.
const MAX_WINDOW_TOKENS: usize = 180;
/// The bytes of text that take as long to be analyzed as a token takes to be compared with a long question's.
pub(super) const TOKEN_BYTES: usize = 32;

/// Sentences that are embedded together.
struct Window {
    /// The index of their section.
    section: usize,
    /// The indices of the sentences in the section, in order.
    sentences: Vec<usize>,
    /// Whether a heading is before the sentences.
    headed: bool,
    /// The heading and the sentences.
    pieces: Vec<String>,
}

/// See [`crate::answer_sections`].
pub(super) fn sections(passage: PassageText<'_>) -> Vec<AnswerSection> {
    let sections = of_passage(0, &passage.into()).into_iter();
    let sections = sections.map(|Section { start, view, .. }| {
        let ranges = view.sentences.iter().enumerate();
        let own = ranges.filter(|(index, _)| !view.is_heading(*index));
        let placed = |(index, range): (usize, &Range<usize>)| {
            let range = start + range.start..start + range.end;
            (range, view.sentence(index).to_owned())
        };
        AnswerSection {
            heading: view.lead(),
            sentences: own.map(placed).collect(),
        }
    });
    sections.collect()
}

/// The similarities of the question with each section and its sentences, −1 to 1; those of the least similar sentence for
/// headings and sentences that were not read. The similarity with a section is that with its best sentence. The embedder
/// [adapts to answers](Embedder::adapts_to_answers).
pub(super) async fn similarities(
    embedder: &Arc<dyn Embedder>,
    question: &Arc<Question>,
    sections: Vec<Section>,
) -> Result<Vec<Cosines>, EvaluateError> {
    let mut read: Vec<Read> = sections.iter().map(Read::new).collect();
    let asked = vec![vec![question.text().to_owned()]];
    let asked = embedder
        .embed_tokens(Input::Question, asked)
        .await?
        .into_iter()
        .flatten()
        .next();
    let asked = asked.ok_or(EvaluateError::Stopped)?;
    let windows = {
        let (embedder, question) = (Arc::clone(embedder), Arc::clone(question));
        let windows =
            move |(index, section): (usize, Section)| windows(index, &section.view, &question, embedder.as_ref());
        let sections: Vec<(usize, Section)> = sections.into_iter().enumerate().collect();
        Turns::shared()
            .each(sections, |(_, section)| section.size(), windows)
            .await?
    };
    let windows: Vec<Window> = windows.into_iter().flatten().collect();
    let texts = windows.iter().map(|window| window.pieces.clone()).collect();
    let embedded = embedder.embed_tokens(Input::Answer, texts).await?.unwrap_or_default();
    let bytes = |window: &Arc<TokenVectors>| window.tokens().len() * TOKEN_BYTES;
    let compare = move |window: Arc<TokenVectors>| {
        let late = Late::new(&asked, &window, window.pieces());
        (asked.answer_similarities(&window), late)
    };
    let compared = Turns::shared().each(embedded, bytes, compare).await?;
    for (window, (similarities, late)) in windows.into_iter().zip(compared) {
        if let Some(read) = read.get_mut(window.section) {
            read.add(&window, &similarities, late);
        }
    }
    Ok(read.into_iter().map(Read::into_cosines).collect())
}

/// What was read of a section.
struct Read {
    /// The similarity of each sentence, if it was read.
    sentences: Vec<Option<f64>>,
    /// Token similarities of each window, with the indices of its pieces among the sentences.
    windows: Vec<(Late, Vec<Option<usize>>)>,
}

impl Read {
    fn new(section: &Section) -> Self {
        Self {
            sentences: vec![None; section.view.sentences.len()],
            windows: Vec::new(),
        }
    }

    fn add(&mut self, window: &Window, similarities: &[f32], late: Option<Late>) {
        let heading = window.headed.then_some(None);
        let indices: Vec<Option<usize>> = heading
            .into_iter()
            .chain(window.sentences.iter().copied().map(Some))
            .collect();
        for (index, similarity) in indices.iter().zip(similarities) {
            if let Some(slot) = index.and_then(|index| self.sentences.get_mut(index)) {
                *slot = Some(f64::from(*similarity));
            }
        }
        self.windows.extend(late.map(|late| (late, indices)));
    }

    fn into_cosines(self) -> Cosines {
        let known = || self.sentences.iter().flatten().copied();
        let least = known().reduce(f64::min).unwrap_or(-1.0);
        Cosines {
            passage: known().fold(least, f64::max),
            late: Late::joined(&self.windows, self.sentences.len()),
            sentences: self.sentences.iter().map(|own| own.unwrap_or(least)).collect(),
        }
    }
}

/// The sentences of a section that share most with the question, as many together as [`MAX_WINDOW_TOKENS`] holds, without headings.
fn windows(section: usize, view: &View, question: &Question, embedder: &dyn Embedder) -> Vec<Window> {
    let heading = view.lead();
    let before = heading.as_deref().map_or(0, |heading| embedder.count_tokens(heading));
    let mut windows: Vec<Window> = Vec::new();
    let mut room = 0;
    for index in question.closest(view, MAX_SENTENCES) {
        if view.is_heading(index) {
            continue;
        }
        let sentence = view.sentence(index);
        let tokens = embedder.count_tokens(sentence);
        if windows.is_empty() || tokens > room {
            windows.push(Window {
                section,
                sentences: Vec::new(),
                headed: heading.is_some(),
                pieces: heading.iter().cloned().collect(),
            });
            room = MAX_WINDOW_TOKENS.saturating_sub(before);
        }
        room = room.saturating_sub(tokens);
        if let Some(window) = windows.last_mut() {
            window.sentences.push(index);
            window.pieces.push(sentence.to_owned());
        }
    }
    windows
}

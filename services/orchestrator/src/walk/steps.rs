//! The steps of a walk. A passage that an earlier step carries is only referred to.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use emend_core::limits::MAX_RESULT_BYTES;
use emend_proto::v1::{GradedPassage, Passage, PassageContent, Span, Step};
use prost::Message as _;

use super::size;

/// Size of the recorded steps, in bytes, above which they are shortened during the walk. A result
/// is limited to [`MAX_RESULT_BYTES`], so a long walk need not keep much more.
const MAX_RECORDED_BYTES: usize = 2 * MAX_RESULT_BYTES;

/// The steps taken, oldest first.
#[derive(Debug, Default)]
pub(super) struct Steps {
    steps: Vec<Step>,
    /// A hash of the latest content of each passage that a step carried, by id.
    latest: HashMap<String, u64>,
    /// Every place of a step that carries a whole passage.
    carried: Vec<Carried>,
    /// Upper bound of the encoded size of the steps, in bytes.
    bytes: usize,
    /// The size above which they are shortened next. It doubles where shortening does not help, so that a walk of many
    /// steps is not measured at each of them.
    limit: usize,
}

/// Where a whole passage is, as indexes, and the hash of its content.
#[derive(Debug)]
struct Carried {
    step: usize,
    place: usize,
    content: u64,
}

impl Steps {
    /// Steps taken.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether none was taken.
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Records a step and returns it for its event. Passages that an earlier step carries become
    /// references.
    pub(super) fn record(&mut self, mut step: Step) -> Step {
        for (place, graded) in step.passages.iter_mut().enumerate() {
            let Some(passage) = &graded.passage else { continue };
            let content = content(passage);
            if self.latest.get(&passage.id) == Some(&content) {
                refer(graded, PassageContent::EarlierStep);
            } else {
                self.latest.insert(passage.id.clone(), content);
                self.carried.push(Carried {
                    step: self.steps.len(),
                    place,
                    content,
                });
            }
        }
        self.bytes = self.bytes.saturating_add(step.encoded_len());
        self.steps.push(step.clone());
        if self.bytes > self.limit.max(MAX_RECORDED_BYTES) {
            size::fit_texts(&mut self.steps, MAX_RESULT_BYTES);
            self.bytes = self.steps.iter().map(Step::encoded_len).sum();
            self.limit = 2 * self.bytes;
        }
        step
    }

    /// The steps for a result with these documents: passages that the documents contain become
    /// references, and strips with a span lose their text.
    pub(super) fn beside(mut self, documents: &[GradedPassage]) -> Vec<Step> {
        let documents: HashMap<&str, u64> = documents
            .iter()
            .filter_map(|graded| graded.passage.as_ref())
            .map(|passage| (passage.id.as_str(), content(passage)))
            .collect();
        for carried in &self.carried {
            let graded = self
                .steps
                .get_mut(carried.step)
                .and_then(|step| step.passages.get_mut(carried.place));
            let Some(graded) = graded else { continue };
            let id = graded.passage.as_ref().map(|passage| passage.id.as_str());
            if id.and_then(|id| documents.get(id)) == Some(&carried.content) {
                refer(graded, PassageContent::Documents);
            }
        }
        for strip in self.steps.iter_mut().flat_map(|step| &mut step.strips) {
            if strip.span.is_some() {
                strip.text.clear();
            }
        }
        self.steps
    }
}

/// Reduces a passage to a reference.
fn refer(graded: &mut GradedPassage, content: PassageContent) {
    graded.set_content(content);
    graded.passage = graded.passage.take().map(size::reference);
}

/// A hash of everything that a reader of a passage sees. The retriever's score is left out: it
/// differs for every query.
fn content(passage: &Passage) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&passage.document_id, &passage.title, &passage.headings, &passage.text).hash(&mut hasher);
    (&passage.source, passage.origin).hash(&mut hasher);
    let range = |span: Option<Span>| span.map(|span| (span.start, span.end));
    range(passage.span).hash(&mut hasher);
    for piece in &passage.pieces {
        (range(piece.in_text), range(piece.in_document)).hash(&mut hasher);
    }
    let mut metadata: Vec<_> = passage.metadata.iter().collect();
    metadata.sort_unstable();
    metadata.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;

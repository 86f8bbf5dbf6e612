//! The beam: answers that are written segment by segment, several at a time.

use std::collections::HashSet;

use emend_proto::v1::{Citation, GradedPassage, Sentence, Span};

use super::state::{Attempt, Verdict};

/// An answer that grows segment by segment.
#[derive(Clone, Debug, Default)]
pub(super) struct Hypothesis {
    pub(super) answer: String,
    pub(super) sentences: Vec<Sentence>,
    /// The passages its segments were written from, each once.
    pub(super) evidence: Vec<GradedPassage>,
    /// The scores of its segments.
    scores: Vec<f64>,
    /// Whether every segment is supported well enough; unset when one is ungraded and none fails.
    supported: Option<bool>,
    /// Whether the whole answer was found useful when it was graded last.
    useful: Option<bool>,
    groundedness: Option<f64>,
    usefulness: Option<f64>,
    /// Whether there is nothing left to add.
    pub(super) complete: bool,
}

/// A segment with its grades.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) answer: String,
    pub(super) sentences: Vec<Sentence>,
    /// What it was written from.
    pub(super) passage: GradedPassage,
    pub(super) score: f64,
    pub(super) supported: Option<bool>,
    pub(super) groundedness: Option<f64>,
    pub(super) useful: Option<bool>,
    pub(super) usefulness: Option<f64>,
}

impl Hypothesis {
    /// The hypothesis with one more segment.
    pub(super) fn grown(&self, segment: Segment) -> Hypothesis {
        let mut grown = self.clone();
        let number = grown.cite(&segment.passage);
        grown.answer = joined(&self.answer, &segment.answer);
        let length = |text: &str| u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        let offset = length(&grown.answer).saturating_sub(length(segment.answer.trim()));
        for mut sentence in segment.sentences {
            if let Some(span) = &mut sentence.span {
                *span = Span {
                    start: span.start.saturating_add(offset),
                    end: span.end.saturating_add(offset),
                };
            }
            for citation in &mut sentence.citations {
                *citation = Citation {
                    number,
                    ..citation.clone()
                };
            }
            grown.sentences.push(sentence);
        }
        let first = self.scores.is_empty();
        grown.supported = if first {
            segment.supported
        } else {
            both(self.supported, segment.supported)
        };
        grown.groundedness = match (first, self.groundedness, segment.groundedness) {
            (true, _, score) => score,
            (false, Some(a), Some(b)) => Some(a.min(b)),
            (false, ..) => None,
        };
        grown.useful = segment.useful;
        grown.usefulness = segment.usefulness;
        grown.scores.push(segment.score);
        grown
    }

    /// The mean score of its segments, which makes hypotheses of different lengths comparable.
    pub(super) fn score(&self) -> f64 {
        if self.scores.is_empty() {
            return f64::NEG_INFINITY;
        }
        self.scores.iter().sum::<f64>() / self.scores.len() as f64
    }

    /// Whether it has segments.
    pub(super) fn has_begun(&self) -> bool {
        !self.scores.is_empty()
    }

    /// The verdict over the whole answer.
    pub(super) fn verdict(&self, verdict: impl Fn(Option<bool>, Option<bool>) -> Verdict) -> Verdict {
        verdict(self.supported, self.useful)
    }

    /// The hypothesis as an answer.
    pub(super) fn attempt(&self, number: u32, verdict: Verdict) -> Attempt {
        Attempt {
            number,
            answer: self.answer.clone(),
            sentences: self.sentences.clone(),
            evidence: self.evidence.clone().into(),
            verdict,
            supported: self.supported,
            groundedness: self.groundedness,
            usefulness: self.usefulness,
            retracted: HashSet::new(),
        }
    }

    /// The number of a passage in the evidence, from 1. A new passage is added to it.
    fn cite(&mut self, passage: &GradedPassage) -> u32 {
        let id = |graded: &GradedPassage| graded.passage.as_ref().map(|passage| passage.id.clone());
        let place = self.evidence.iter().position(|known| id(known) == id(passage));
        let place = place.unwrap_or_else(|| {
            self.evidence.push(passage.clone());
            self.evidence.len() - 1
        });
        u32::try_from(place + 1).unwrap_or(u32::MAX)
    }
}

/// False if one is false, true if both are true, otherwise unknown.
fn both(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// Joins two texts, with a space between them if their script puts one between sentences.
pub(super) fn joined(text: &str, more: &str) -> String {
    let more = more.trim();
    format!("{text}{}{more}", emend_text::sentence_separator(text, more))
}

#[cfg(test)]
mod tests;

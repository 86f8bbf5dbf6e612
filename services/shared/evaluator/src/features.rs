//! Features of a pair of texts, the inputs of the logistic models.
//!
//! Every feature has a name, which the coefficient files use. Features whose name starts with `cosine` come from the
//! embedder; all others come from the words alone.

mod answer;
mod form;
mod groundedness;
mod kind;
mod late;
mod overlap;
mod place;
mod question;
mod relevance;
mod usefulness;
mod view;

pub(super) use answer::{
    NAMES as ANSWER, answer_sentences, is_dated_heading, is_heading, is_markup, is_usage, question_as_sentence,
    repeats_question, restates_question,
};
pub(super) use groundedness::{NAMES as GROUNDEDNESS, groundedness, is_fragment, is_quoted, is_whole_sentence};
pub(super) use late::Late;
pub(super) use question::Question;
pub(super) use relevance::{NAMES as RELEVANCE, relevance};
pub(super) use usefulness::{NAMES as USEFULNESS, is_bare, usefulness};
#[cfg(test)]
pub(super) use view::MAX_SENTENCES as MAX_VIEW_SENTENCES;
pub(super) use view::View;

use emend_text::Script;

/// Named feature values. A feature that a coefficients file uses and that is missing here counts as its mean, so it has
/// no effect.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Features(Vec<(&'static str, f64)>);

impl Features {
    fn set(&mut self, name: &'static str, value: f64) {
        self.0.push((name, value));
    }

    /// The same with another value of one of them.
    fn with(mut self, name: &'static str, value: f64) -> Self {
        self.0.retain(|(other, _)| *other != name);
        self.set(name, value);
        self
    }

    pub(super) fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(other, _)| *other == name).map(|(_, value)| *value)
    }

    pub(super) fn into_pairs(self) -> Vec<(&'static str, f64)> {
        self.0
    }
}

impl FromIterator<(&'static str, f64)> for Features {
    fn from_iter<I: IntoIterator<Item = (&'static str, f64)>>(features: I) -> Self {
        Self(features.into_iter().collect())
    }
}

/// Cosine similarity of a question or a claim to a passage as a whole and to each of its sentences.
#[derive(Clone, Debug)]
pub(super) struct Cosines {
    /// That of an adapted embedder is the similarity of the best sentence.
    pub(super) passage: f64,
    /// One per sentence, in order; never empty. Similarities of an adapted embedder are the mean of a cosine and of MaxSim.
    pub(super) sentences: Vec<f64>,
    /// Token-level similarity, if the embedder returns token vectors.
    pub(super) late: Option<Late>,
}

impl Cosines {
    /// The index of the best sentence, its cosine, and the second best cosine.
    fn best(&self) -> (usize, f64, f64) {
        let mut best = (0, f64::NEG_INFINITY, f64::NEG_INFINITY);
        for (index, &cosine) in self.sentences.iter().enumerate() {
            if cosine > best.1 {
                best = (index, cosine, best.1);
            } else if cosine > best.2 {
                best.2 = cosine;
            }
        }
        if best.2 == f64::NEG_INFINITY {
            (best.0, best.1, best.1)
        } else {
            best
        }
    }
}

/// Groups of pairs whose features are similar enough to share coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    /// Both texts are written in alphabets.
    Alphabet,
    /// Both texts are Chinese, Japanese or Korean.
    Cjk,
    /// One text is Chinese, Japanese or Korean and the other is not. Only meaning, numbers, names and the expected kind
    /// of answer can agree.
    Cross,
}

impl Group {
    pub(super) const ALL: [Self; 3] = [Self::Alphabet, Self::Cjk, Self::Cross];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Alphabet => "alphabet",
            Self::Cjk => "cjk",
            Self::Cross => "cross",
        }
    }

    pub(super) fn of(left: &str, right: &str) -> Self {
        match (Script::is_cjk_text(left), Script::is_cjk_text(right)) {
            (false, false) => Self::Alphabet,
            (true, true) => Self::Cjk,
            _ => Self::Cross,
        }
    }

    /// The group of a short text. Chinese, Japanese and Korean text writes names and figures in the Latin alphabet too,
    /// so only `other` decides if it is in one of them.
    pub(super) fn of_fragment(fragment: &str, other: &str) -> Self {
        if Script::is_cjk_text(other) {
            Self::Cjk
        } else {
            Self::of(fragment, other)
        }
    }
}

#[cfg(test)]
mod tests;

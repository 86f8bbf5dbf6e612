//! Takes the language off a question's embedding.
//!
//! Embeddings of a multilingual model say in which language a text is, beside what it says. Over documents in several
//! languages a question is then nearest to whatever is in its own language, and the passage that answers it in another one is
//! not found. What all questions in a language have in common is their mean, which says little else; half of it is taken off.
//! Passages stay as they are stored.

use std::sync::{Arc, LazyLock};

use emend_models::embed::Embedding;
use emend_text::Language;

/// The share of the mean that is taken off, 0–1. Passages in the question's own language are found as well as with all of it;
/// with nothing taken off, or all, one of the two kinds is found less well.
const SHARE: f32 = 0.5;

static E5_SMALL: LazyLock<QuestionMeans> =
    LazyLock::new(|| QuestionMeans::read(include_str!("question_means/multilingual-e5-small.txt")));

/// The means of an embedder's embeddings of questions, by language.
#[derive(Debug)]
pub(crate) struct QuestionMeans(Vec<(Language, Vec<f32>)>);

impl QuestionMeans {
    /// Those of the embedder with this id; `None` where none are known.
    pub(crate) fn of(embedder: &str) -> Option<&'static Self> {
        (embedder == "multilingual-e5-small").then(|| &*E5_SMALL)
    }

    /// Reads lines that begin with the code of a language, with a value for each dimension.
    fn read(lines: &str) -> Self {
        let mean = |line: &str| {
            let (code, values) = line.split_once(' ')?;
            let values = values.split(' ').map(str::parse).collect::<Result<_, _>>();
            Some((Language::from_code(code)?, values.ok()?))
        };
        Self(lines.lines().filter_map(mean).collect())
    }

    /// The embedding of a question without its language, scaled to a norm of 1; as it is where the language's mean is not
    /// known.
    pub(crate) fn take_off(&self, question: &str, embedding: Embedding) -> Embedding {
        let mean = self.mean(question).filter(|mean| mean.len() == embedding.len());
        let Some(mean) = mean else { return embedding };
        let mut rest: Vec<f32> = embedding
            .iter()
            .zip(mean)
            .map(|(own, mean)| own - SHARE * mean)
            .collect();
        let norm = rest.iter().map(|value| value * value).sum::<f32>().sqrt();
        if norm < f32::EPSILON {
            return embedding;
        }
        rest.iter_mut().for_each(|value| *value /= norm);
        Arc::from(rest)
    }

    /// The mean of the question's language. That of English stands for other languages in Latin letters.
    fn mean(&self, question: &str) -> Option<&[f32]> {
        let language = match emend_text::language(question) {
            Language::ZhHant => Language::Zh,
            Language::Other(_) if question.chars().filter(|c| c.is_alphabetic()).all(is_latin) => Language::En,
            language => language,
        };
        let found = self.0.iter().find(|(known, _)| *known == language);
        found.map(|(_, mean)| mean.as_slice())
    }
}

/// Whether a letter is Latin, with or without accents.
fn is_latin(letter: char) -> bool {
    matches!(letter, '\0'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
}

#[cfg(test)]
mod tests;

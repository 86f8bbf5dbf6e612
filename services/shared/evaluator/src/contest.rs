//! Sentences that compete to be the answer to a question.

use std::collections::HashMap;

use emend_core::Turns;

use super::coefficients::{Coefficients, Task};
use super::features::{self, Question};
use super::fit::{sigmoid, softmax};
use super::text_pairs::{Section, TextPair};
use super::{EvaluateError, SentenceScore};

/// Minimum log-odds of a sentence that restates the whole question, even if its cosine similarity is low. In SQuAD 2.0, whose
/// unanswerable questions are written to look answerable, three of four such sentences hold the answer.
const RESTATEMENT: f64 = 0.0;

/// The sentences of passages that may answer one question.
///
/// Where the model was fitted to choose among them, the probability of each is that it is chosen, and not another or none: two
/// that are as good as each other are less sure than one alone. What stands in several places competes once.
#[derive(Clone, Debug, Default)]
pub struct Contest {
    pub(super) entrants: Vec<Entrant>,
    /// How many passages they are of.
    pub(super) passages: usize,
}

/// A sentence with its log-odds to answer against none.
#[derive(Clone, Debug)]
pub(super) struct Entrant {
    score: SentenceScore,
    logit: f64,
    /// Whether it has rivals.
    competes: bool,
}

/// The sentences of a section; the passages that they are of count from `first`.
pub(super) fn entrants(coefficients: &Coefficients, asked: &Question, pair: &TextPair, first: usize) -> Vec<Entrant> {
    let Section { passage, start, view } = &pair.section;
    let competes = coefficients.in_passage(Task::Answer, pair.group);
    let sentences = features::answer_sentences(asked, view, pair.cosines.as_ref());
    let entrants = sentences.iter().zip(&view.sentences).enumerate();
    let entrants = entrants.map(|(index, (features, range))| {
        let mut logit = coefficients.logit(Task::Answer, pair.group, features);
        if features::is_heading_or_question(features) {
            logit = f64::NEG_INFINITY;
        } else if features::restates_question(asked, features) {
            logit = logit.max(RESTATEMENT);
        }
        Entrant {
            score: SentenceScore {
                passage: first + passage,
                range: start + range.start..start + range.end,
                text: view.sentence(index).to_owned(),
                probability: sigmoid(logit),
            },
            logit,
            competes,
        }
    });
    entrants.collect()
}

impl Contest {
    /// The sentences as they were added, each with its probability without rivals.
    pub fn sentences(&self) -> impl Iterator<Item = &SentenceScore> {
        self.entrants.iter().map(|entrant| &entrant.score)
    }

    /// Leaves out sentences, which then compete no more.
    pub fn retain(&mut self, mut keep: impl FnMut(&SentenceScore) -> bool) {
        self.entrants.retain(|entrant| keep(&entrant.score));
    }

    /// The sentences with the probability that each answers, best first.
    ///
    /// # Errors
    /// [`EvaluateError::Stopped`].
    pub async fn ranked(self) -> Result<Vec<SentenceScore>, EvaluateError> {
        Ok(Turns::shared().piece(move || rank(self.entrants)).await?)
    }
}

fn rank(mut entrants: Vec<Entrant>) -> Vec<SentenceScore> {
    entrants.sort_by(|a, b| b.logit.total_cmp(&a.logit));
    let mut rivals: Vec<f64> = Vec::new();
    let mut by_text: HashMap<&str, usize> = HashMap::new();
    let places: Vec<Option<usize>> = entrants
        .iter()
        .map(|entrant| {
            entrant.competes.then(|| {
                *by_text.entry(entrant.score.text.as_str()).or_insert_with(|| {
                    rivals.push(entrant.logit);
                    rivals.len() - 1
                })
            })
        })
        .collect();
    let chosen = softmax(&rivals);
    let scores = entrants.into_iter().zip(places).map(|(entrant, place)| SentenceScore {
        probability: place.map_or(entrant.score.probability, |place| chosen[place]),
        ..entrant.score
    });
    let mut scores: Vec<SentenceScore> = scores.collect();
    scores.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    scores
}

#[cfg(test)]
mod tests;

//! How well evidence supports the sentences of an answer.

use std::sync::Arc;

use emend_core::Turns;

use super::coefficients::Task;
use super::features::{self, Question, View};
use super::text_pairs::{self, Section};
use super::{EvaluateError, Evaluator, PassageText, Support};

/// Minimum groundedness probability of a claim that the evidence contains verbatim.
pub(super) const QUOTED_PROBABILITY: f64 = 0.99;

/// Evidence that claims are judged against at a time, in bytes: with its vectors it takes a few hundred times as much memory.
pub(super) const PART_BYTES: usize = 128 << 10;

/// The groundedness of a sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Groundedness {
    /// The probability that the evidence supports the sentence, 0–1.
    pub probability: f64,
    /// The support level, from the probability and the thresholds.
    pub level: Support,
    /// The index of the evidence that supports the sentence best; `None` without evidence.
    pub passage: Option<usize>,
}

impl Evaluator {
    /// How well the evidence supports a sentence of an answer to `question`, which may be empty.
    ///
    /// A sentence that the evidence contains verbatim is supported. Without evidence no sentence is.
    ///
    /// # Errors
    /// [`EvaluateError::Embed`] when the texts could not be embedded.
    pub async fn groundedness(
        &self,
        question: &str,
        sentence: &str,
        evidence: &[&str],
    ) -> Result<Groundedness, EvaluateError> {
        let mut grounded = Vec::new();
        self.ground(question, &[sentence], evidence, &mut grounded).await?;
        grounded.pop().ok_or(EvaluateError::Stopped)
    }

    /// [`groundedness`](Self::groundedness) of each of several sentences, in order. A grade is in `grounded` as soon as it is
    /// known, so that what there is stays there when the future is dropped.
    ///
    /// The evidence is analyzed once, in parts if it is long: then the last part decides, and no grade is known before.
    ///
    /// # Errors
    /// [`EvaluateError::Embed`] when the texts could not be embedded.
    pub async fn ground(
        &self,
        question: &str,
        sentences: &[&str],
        evidence: &[&str],
        grounded: &mut Vec<Groundedness>,
    ) -> Result<(), EvaluateError> {
        let question = match question.trim() {
            "" => None,
            _ => Some(text_pairs::question(question).await?),
        };
        let claims: Vec<String> = sentences.iter().map(|sentence| (*sentence).to_owned()).collect();
        let claims = Turns::shared().each(claims, String::len, |sentence| Arc::new(Question::new(&sentence)));
        let claims = claims.await?;
        let evidence: Vec<PassageText<'_>> = evidence.iter().copied().map(PassageText::from).collect();
        let parts = parts(&evidence);
        let mut best: Vec<Option<(usize, f64)>> = vec![None; claims.len()];
        for (number, part) in parts.iter().enumerate() {
            let first: usize = parts.iter().take(number).map(|part| part.len()).sum();
            let sections = text_pairs::sections(part).await?;
            for (claim, best) in claims.iter().zip(&mut best) {
                let judged = self.judge_claim(claim, question.as_ref(), &sections).await?;
                let judged = judged
                    .into_iter()
                    .map(|(passage, probability)| (first + passage, probability));
                let so_far = best.take().into_iter();
                *best = so_far.chain(judged).max_by(|(_, a), (_, b)| a.total_cmp(b));
                if number + 1 == parts.len() {
                    grounded.push(self.grounded(*best));
                }
            }
        }
        Ok(())
    }

    /// The passages of the sections with the probabilities that they support a claim.
    async fn judge_claim(
        &self,
        claim: &Arc<Question>,
        question: Option<&Arc<Question>>,
        sections: &[Section],
    ) -> Result<Vec<(usize, f64)>, EvaluateError> {
        let task = groundedness_task(claim.view(), question.map(|question| &**question));
        let pairs = self.pairs(task, claim, sections, false).await?;
        let (claim, question, coefficients) = (Arc::clone(claim), question.cloned(), self.coefficients());
        Self::judged(pairs, move |pair| {
            let (claim, evidence) = (claim.view(), &*pair.section.view);
            let features = features::groundedness(claim, evidence, pair.cosines.as_ref(), question.as_deref());
            let probability = coefficients.probability(task, pair.group, &features);
            let quoted = match task {
                // A few words may stand anywhere.
                Task::GroundedFragment => features::is_whole_sentence(claim, evidence),
                _ => features::is_quoted(claim, evidence),
            };
            let least = if quoted { QUOTED_PROBABILITY } else { 0.0 };
            (pair.section.passage, probability.max(least))
        })
        .await
    }

    /// The grade from the best passage and its probability.
    fn grounded(&self, best: Option<(usize, f64)>) -> Groundedness {
        let probability = best.map_or(0.0, |(_, probability)| probability);
        let thresholds = self.thresholds();
        let level = if probability >= thresholds.fully {
            Support::Full
        } else if probability >= thresholds.partially {
            Support::Partial
        } else {
            Support::No
        };
        Groundedness {
            probability,
            level,
            passage: best.map(|(place, _)| place),
        }
    }
}

/// Evidence in parts that are held in memory one at a time; at least one part, and at least one passage in each.
fn parts<'a, 't>(evidence: &'a [PassageText<'t>]) -> Vec<&'a [PassageText<'t>]> {
    let mut parts = Vec::new();
    let mut left = evidence;
    while !left.is_empty() {
        let mut bytes = 0;
        let fitting = left.iter().take_while(|passage| {
            bytes += passage.text.len();
            bytes <= PART_BYTES
        });
        let (part, rest) = left.split_at(fitting.count().max(1));
        parts.push(part);
        left = rest;
    }
    if parts.is_empty() {
        parts.push(left);
    }
    parts
}

/// The task for a claim. A claim of a few words is judged with its question; without a question it is judged as a
/// sentence.
pub(super) fn groundedness_task(claim: &View, question: Option<&Question>) -> Task {
    if question.is_some() && features::is_fragment(claim) {
        Task::GroundedFragment
    } else {
        Task::Groundedness
    }
}

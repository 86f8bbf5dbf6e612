//! Which sentences of the passages answer the question?

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use emend_core::Turns;
use emend_text as text;

use super::coefficients::{Coefficients, Task};
use super::features::{self, Features, Group, Question};
use super::named::less_likely;
use super::text_pairs::{self, Section, TextPair};
use super::{EvaluateError, Evaluator, PassageText};

/// Passages whose sentences are scored at a time: what is analyzed of them is in memory.
const BATCH: usize = 4;
/// Minimum answer probability of a sentence that restates the whole question, even if its cosine similarity is low. In
/// SQuAD 2.0, whose unanswerable questions are written to look answerable, three of four such sentences hold the
/// answer.
const RESTATEMENT_PROBABILITY: f64 = 0.5;
/// What a line of a file for machines has of its probability: prose that answers as well is to be quoted instead. The sets
/// that the coefficients are fitted on have none.
const MARKUP: f64 = 0.5;
/// The same for code where the question does not ask how: code shows what prose says.
const CODE: f64 = 0.5;

/// What a sentence in another language than the question has of its probability. Of 11 answers across languages over two folders of
/// many kinds of files 5 were right; the pairs that the probabilities are fitted on have the right passage among others of the same
/// text.
const OTHER_LANGUAGE: f64 = 0.6;

/// The score of one sentence of a passage as the answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct SentenceScore {
    /// The index of the passage.
    pub passage: usize,
    /// The byte range of the sentence in the passage.
    pub range: Range<usize>,
    /// What it says: its text, or for a row of a table its values behind the names of their columns.
    pub text: String,
    /// The probability that the sentence answers the question, 0–1; of a question of several parts, the part that it
    /// answers best.
    pub probability: f64,
    /// The index of that part; 0 for a question of one part.
    pub part: usize,
}

impl Evaluator {
    /// Scores every sentence of the passages by the probability that it answers the question, best first. Headings and
    /// questions introduce an answer without stating it, and what only repeats a question for how or why does not answer
    /// it, so they have 0; the sentence after a question has at least the probability that the question would have as a
    /// sentence. A heading with a date may answer a question for when. Of a question of several [parts](emend_text::parts)
    /// a sentence has the probability of the part that it answers best.
    ///
    /// # Errors
    /// [`EvaluateError::Embed`] when the texts could not be embedded.
    pub async fn best_sentences(
        &self,
        question: &str,
        passages: &[PassageText<'_>],
    ) -> Result<Vec<SentenceScore>, EvaluateError> {
        let by_part = self.sentences_by_part(question, passages).await?;
        let bytes = by_part.iter().flatten().map(|score| score.text.len()).sum();
        let best = move || {
            let mut best: HashMap<(usize, usize), SentenceScore> = HashMap::new();
            for score in by_part.into_iter().flatten() {
                let known = best.entry((score.passage, score.range.start));
                known
                    .and_modify(|known| {
                        if score.probability > known.probability {
                            known.clone_from(&score);
                        }
                    })
                    .or_insert(score);
            }
            let mut best: Vec<SentenceScore> = best.into_values().collect();
            // Ties keep the order of the passages.
            best.sort_by_key(|score| (score.passage, score.range.start));
            best.sort_by(|a, b| b.probability.total_cmp(&a.probability));
            best
        };
        Ok(Turns::shared().piece(bytes, best).await?)
    }

    /// The scores of all sentences for each part of the question, in order.
    pub(super) async fn sentences_by_part(
        &self,
        question: &str,
        passages: &[PassageText<'_>],
    ) -> Result<Vec<Vec<SentenceScore>>, EvaluateError> {
        let parts = text_pairs::parts(question).await?;
        let mut by_part = vec![Vec::new(); parts.len()];
        let mut first = 0;
        for batch in passages.chunks(BATCH) {
            let sections = text_pairs::sections(batch).await?;
            for (part, (asked, scores)) in parts.iter().zip(&mut by_part).enumerate() {
                let pairs = self.pairs(Task::Answer, asked, &sections, false).await?;
                let (coefficients, asked) = (self.coefficients(), Arc::clone(asked));
                let judged = Self::judged(pairs, move |pair| sentence_scores(&coefficients, &asked, pair));
                let numbered = judged.await?.into_iter().flatten().map(|score| SentenceScore {
                    passage: first + score.passage,
                    part,
                    ..score
                });
                scores.extend(numbered);
            }
            first += batch.len();
        }
        Ok(by_part)
    }
}

/// The scores of the sentences of a section, for a question of one part.
fn sentence_scores(coefficients: &Coefficients, asked: &Question, pair: &TextPair) -> Vec<SentenceScore> {
    let Section { passage, start, view } = &pair.section;
    let sentences = features::answer_sentences(asked, view, pair.cosines.as_ref());
    let probability = |features: &Features| coefficients.probability(Task::Answer, pair.group, features);
    let mut code = text::code_blocks(&view.text).into_iter().peekable();
    let mut scores = Vec::with_capacity(sentences.len());
    // How well the question before a sentence matches the one that is asked: its answer is what comes next.
    let mut introduced = 0.0;
    for (index, (features, range)) in sentences.iter().zip(&view.sentences).enumerate() {
        let sentence = view.sentence(index);
        while code.next_if(|block| block.range.end <= range.start).is_some() {}
        let is_code = code.peek().is_some_and(|block| block.range.start < range.end);
        let own = if let Some(as_sentence) = features::question_as_sentence(features) {
            introduced = probability(&as_sentence);
            0.0
        } else if features::is_heading(features) {
            introduced = 0.0;
            match features::is_dated_heading(asked, features, sentence) {
                true => RESTATEMENT_PROBABILITY,
                false => 0.0,
            }
        } else if !is_code && features::repeats_question(asked, sentence) {
            std::mem::take(&mut introduced)
        } else if features::is_usage(sentence) {
            0.0
        } else {
            let mut own = probability(features);
            if features::restates_question(asked, features) {
                // Of several, the model's own order.
                own = own.max(0.01f64.mul_add(own, RESTATEMENT_PROBABILITY));
            }
            if features::is_markup(sentence) {
                own *= MARKUP;
            } else if is_code && !asked.asks_how() {
                own *= CODE;
            }
            if pair.group == Group::Cross {
                own *= OTHER_LANGUAGE;
            }
            own.max(std::mem::take(&mut introduced))
        };
        let own = less_likely(own, view.unnamed);
        scores.push(SentenceScore {
            passage: *passage,
            range: start + range.start..start + range.end,
            text: sentence.to_owned(),
            probability: own,
            part: 0,
        });
    }
    scores
}

#[cfg(test)]
mod tests;

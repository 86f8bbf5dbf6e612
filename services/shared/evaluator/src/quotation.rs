//! Answers that consist of sentences of the evidence.

mod substrings;

use emend_text as text;

use super::SentenceScore;
use substrings::Substrings;

/// Minimum share of an answer's letters and digits that sentences of the evidence make up.
const MIN_SHARE: f64 = 0.95;
/// How many times the letters of an answer its quotations may have together. Sentences that overlap quote a part twice;
/// beyond this the shorter ones add nothing.
const MAX_QUOTED: usize = 2;

/// The highest probability of the sentences that an answer consists of; `None` if it says anything else.
pub(super) fn probability(answer: &str, scores: &[SentenceScore]) -> Option<f64> {
    let mut of_answer = Substrings::default();
    let mut count = 0_usize;
    for c in text::letters(answer) {
        of_answer.push(c);
        count += 1;
    }
    let said = scores.iter().map(|score| {
        let said: Vec<char> = text::letters(&text::without_marks(&score.text)).collect();
        (said, score.probability)
    });
    let mut said: Vec<(Vec<char>, f64)> = said.filter(|(said, _)| of_answer.has(said)).collect();
    // What a longer sentence contains was not quoted by itself.
    said.sort_by_key(|(said, _)| std::cmp::Reverse(said.len()));
    let mut quoted = Substrings::default();
    let mut length = 0_usize;
    let mut best: Option<f64> = None;
    for (said, probability) in said {
        if said.is_empty() || length > MAX_QUOTED * count {
            break;
        }
        if !quoted.has(&said) {
            length += said.len();
            best = Some(best.map_or(probability, |best| best.max(probability)));
            said.into_iter().for_each(|c| quoted.push(c));
            // No letter: nothing that is sought goes over the end of a sentence.
            quoted.push('\n');
        }
    }
    let share = length as f64 / count.max(1) as f64;
    best.filter(|_| share >= MIN_SHARE)
}

#[cfg(test)]
mod tests;

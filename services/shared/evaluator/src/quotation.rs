//! Answers that consist of sentences of the evidence.

use emend_text as text;

use super::SentenceScore;

/// Minimum share of an answer's letters and digits that sentences of the evidence make up.
const MIN_SHARE: f64 = 0.95;

/// The highest probability of the sentences that an answer consists of; `None` if it says anything else.
pub(super) fn probability(answer: &str, scores: &[SentenceScore]) -> Option<f64> {
    let answer = emend_text::letters(answer).collect::<String>();
    let said = scores.iter().map(|score| {
        let said = emend_text::letters(&text::without_marks(&score.text)).collect::<String>();
        (said, score.probability)
    });
    let mut said: Vec<(String, f64)> = said.filter(|(said, _)| answer.contains(said)).collect();
    // What a longer sentence contains was not quoted by itself.
    said.sort_by_key(|(said, _)| std::cmp::Reverse(said.len()));
    let mut quoted: Vec<(String, f64)> = Vec::new();
    for (said, probability) in said {
        if !said.is_empty() && !quoted.iter().any(|(longer, _)| longer.contains(&said)) {
            quoted.push((said, probability));
        }
    }
    let length: usize = quoted.iter().map(|(said, _)| said.chars().count()).sum();
    let share = length as f64 / answer.chars().count().max(1) as f64;
    let best = quoted.into_iter().map(|(_, probability)| probability).reduce(f64::max);
    best.filter(|_| share >= MIN_SHARE)
}

#[cfg(test)]
mod tests;

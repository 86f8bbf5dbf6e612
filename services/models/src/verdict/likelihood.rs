//! Scores from the log-probabilities of a verdict's token, finer than the verdict itself.

use super::value::normalise;
use super::{Verdict, alone};
use crate::chat::TokenLogprobs;

/// The probability of yes among yes and no, at the first token that is mostly one of them.
pub fn probability(tokens: &[TokenLogprobs]) -> Option<f64> {
    expected(tokens, |token| {
        alone(token).map(|verdict| match verdict {
            Verdict::Yes => 1.0,
            Verdict::No => 0.0,
        })
    })
}

/// P(full) + ½·P(partial), 0–1, as the Self-RAG paper scores ISSUP.
pub fn support_score(tokens: &[TokenLogprobs]) -> Option<f64> {
    expected(tokens, |token| match token {
        "full" | "fully" | "yes" => Some(1.0),
        "part" | "partial" | "partially" => Some(0.5),
        "no" | "not" | "none" => Some(0.0),
        _ => None,
    })
}

/// The expected utility with weights −1, −½, 0, ½, 1 for 1 to 5, as the Self-RAG paper scores ISUSE.
pub fn utility_score(tokens: &[TokenLogprobs]) -> Option<f64> {
    expected(tokens, |token| match token {
        "1" => Some(-1.0),
        "2" => Some(-0.5),
        "3" => Some(0.0),
        "4" => Some(0.5),
        "5" => Some(1.0),
        _ => None,
    })
}

/// The mean of `worth` over the alternatives at the first place where most of the probability has a worth.
fn expected(tokens: &[TokenLogprobs], worth: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    tokens.iter().find_map(|place| {
        let sampled = (!place.top.iter().any(|(token, _)| *token == place.token))
            .then_some((place.token.as_str(), place.logprob));
        let top = place.top.iter().map(|(token, logprob)| (token.as_str(), *logprob));
        let (mut mass, mut sum) = (0.0, 0.0);
        for (token, logprob) in top.chain(sampled) {
            let word = normalise(token);
            if let Some(worth) = worth(word.trim_matches(|c: char| !c.is_alphanumeric())) {
                mass += logprob.exp();
                sum += logprob.exp() * worth;
            }
        }
        (mass > 0.5).then(|| sum / mass)
    })
}

//! Scores from the log-probabilities of a verdict's token, finer than the verdict itself.

use super::value::normalise;
use super::{Reader, Retrieval, Verdict};
use crate::chat::TokenLogprobs;

/// The probability of yes among yes and no, at the first token that is mostly one of them.
pub fn probability(tokens: &[TokenLogprobs]) -> Option<f64> {
    expected(tokens, yes)
}

/// The probabilities of yes of the verdicts in a list, in order; `None` unless the tokens hold exactly `count`.
pub fn probabilities(tokens: &[TokenLogprobs], count: usize) -> Option<Vec<f64>> {
    let found: Vec<f64> = tokens.iter().filter_map(|place| mean(place, yes)).collect();
    (found.len() == count).then_some(found)
}

fn yes(token: &str) -> Option<f64> {
    Reader::BINARY.alone(token).map(|verdict| match verdict {
        Verdict::Yes => 1.0,
        Verdict::No => 0.0,
    })
}

/// The probabilities of yes and of continue among yes, no and continue, at the first token that is mostly one of them.
pub fn retrieval_probabilities(tokens: &[TokenLogprobs]) -> Option<(f64, f64)> {
    let of = |wanted| {
        expected(tokens, move |token| {
            let said = match token {
                // Where a tokeniser cuts the word.
                "cont" | "contin" => Some(Retrieval::Continue),
                token => Reader::RETRIEVAL.alone(token),
            };
            said.map(|said| f64::from(u8::from(said == wanted)))
        })
    };
    Some((of(Retrieval::Yes)?, of(Retrieval::Continue)?))
}

/// P(full) + ½·P(partial), 0–1, as the Self-RAG paper scores ISSUP.
pub fn support_score(tokens: &[TokenLogprobs]) -> Option<f64> {
    support_probabilities(tokens).map(|(full, partial)| full + partial / 2.0)
}

/// The probabilities of full and of partial support, at the first token that is mostly one of the levels.
pub fn support_probabilities(tokens: &[TokenLogprobs]) -> Option<(f64, f64)> {
    let of = |full, partial| {
        expected(tokens, move |token| match token {
            "full" | "fully" | "yes" => Some(full),
            "part" | "partial" | "partially" => Some(partial),
            "no" | "not" | "none" => Some(0.0),
            _ => None,
        })
    };
    Some((of(1.0, 0.0)?, of(0.0, 1.0)?))
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

/// The mean of `worth` at the first place where it has one.
fn expected(tokens: &[TokenLogprobs], worth: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    tokens.iter().find_map(|place| mean(place, &worth))
}

/// The mean of `worth` over the alternatives at a place where most of the probability has a worth.
fn mean(place: &TokenLogprobs, worth: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let sampled =
        (!place.top.iter().any(|(token, _)| *token == place.token)).then_some((place.token.as_str(), place.logprob));
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
}

//! Scores from the log-probabilities of a verdict's token, which are finer than the verdict itself.

use super::value::normalise;
use super::{Parser, Retrieval, Verdict};
use crate::chat::TokenLogprobs;

/// The probability of yes, normalised over yes and no, at the first token where they have most of the probability.
pub fn probability(tokens: &[TokenLogprobs]) -> Option<f64> {
    expected(tokens, yes)
}

/// The probability of yes of each verdict in a list, in order. `None` unless the tokens contain exactly `count`
/// verdicts.
pub fn probabilities(tokens: &[TokenLogprobs], count: usize) -> Option<Vec<f64>> {
    let found: Vec<f64> = tokens.iter().filter_map(|token| mean(token, yes)).collect();
    (found.len() == count).then_some(found)
}

fn yes(token: &str) -> Option<f64> {
    Parser::BINARY.exact(token).map(|verdict| match verdict {
        Verdict::Yes => 1.0,
        Verdict::No => 0.0,
    })
}

/// The probabilities of yes and of continue, normalised over yes, no and continue, at the first token where they have
/// most of the probability.
pub fn retrieval_probabilities(tokens: &[TokenLogprobs]) -> Option<(f64, f64)> {
    let probability_of = |decision| {
        expected(tokens, move |token| {
            let value = match token {
                // Subword tokens of "continue".
                "cont" | "contin" => Some(Retrieval::Continue),
                token => Parser::RETRIEVAL.exact(token),
            };
            value.map(|value| f64::from(u8::from(value == decision)))
        })
    };
    Some((probability_of(Retrieval::Yes)?, probability_of(Retrieval::Continue)?))
}

/// P(full) + ½·P(partial), 0–1, as the Self-RAG paper scores ISSUP.
pub fn support_score(tokens: &[TokenLogprobs]) -> Option<f64> {
    support_probabilities(tokens).map(|(full, partial)| full + partial / 2.0)
}

/// The probabilities of full and of partial support, at the first token where the levels of support have most of the
/// probability.
pub fn support_probabilities(tokens: &[TokenLogprobs]) -> Option<(f64, f64)> {
    let weighted = |full, partial| {
        expected(tokens, move |token| match token {
            "full" | "fully" | "yes" => Some(full),
            "part" | "partial" | "partially" => Some(partial),
            "no" | "not" | "none" => Some(0.0),
            _ => None,
        })
    };
    Some((weighted(1.0, 0.0)?, weighted(0.0, 1.0)?))
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

/// The expected value of `score` at the first token where most of the probability has a score.
fn expected(tokens: &[TokenLogprobs], score: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    tokens.iter().find_map(|token| mean(token, &score))
}

/// The expected value of `score` over the alternatives of one token. `None` unless more than half of the probability
/// has a score.
fn mean(position: &TokenLogprobs, score: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let sampled = (!position.top.iter().any(|(token, _)| *token == position.token))
        .then_some((position.token.as_str(), position.logprob));
    let top = position.top.iter().map(|(token, logprob)| (token.as_str(), *logprob));
    let (mut mass, mut sum) = (0.0, 0.0);
    for (token, logprob) in top.chain(sampled) {
        let word = normalise(token);
        if let Some(score) = score(word.trim_matches(|c: char| !c.is_alphanumeric())) {
            mass += logprob.exp();
            sum += logprob.exp() * score;
        }
    }
    (mass > 0.5).then(|| sum / mass)
}

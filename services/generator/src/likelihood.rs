//! The likelihood of an answer under the model that wrote it.

use std::ops::Range;

use emend_models::chat::TokenLogprobs;

/// Minimum log-probability; lower ones are clamped. Servers return −9999 for a token that is not among the most likely,
/// and one such token says little about an answer of a hundred.
const LEAST: f64 = -20.0;

/// The log-probabilities of an answer's tokens, each with its byte offset in the text.
#[derive(Debug, Default)]
pub(crate) struct Likelihood(Vec<(usize, f64)>);

impl Likelihood {
    /// Adds the tokens of the text that starts at offset `at`.
    pub(crate) fn take(&mut self, at: usize, tokens: &[TokenLogprobs]) {
        let known = tokens
            .iter()
            .map(|token| token.logprob)
            .filter(|logprob| !logprob.is_nan());
        self.0.extend(known.map(|logprob| (at, logprob.clamp(LEAST, 0.0))));
    }

    /// Discards the tokens so far: they were not part of the answer.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }

    /// The geometric mean of the probabilities of the tokens in `range`, 0–1; `None` without known tokens.
    pub(crate) fn of(&self, range: &Range<usize>) -> Option<f64> {
        let within = || self.0.iter().filter(|(at, _)| range.contains(at));
        let count = within().count();
        let sum: f64 = within().map(|(_, logprob)| logprob).sum();
        (count > 0).then(|| (sum / count as f64).exp())
    }
}

#[cfg(test)]
mod tests;

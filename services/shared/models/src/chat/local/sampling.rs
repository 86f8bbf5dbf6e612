//! Token sampling and log-probabilities.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use crate::chat::ChatRequest;

/// The sampler of one reply.
pub(super) struct Sampling {
    temperature: f32,
    /// Frequency penalty.
    penalty: f32,
    /// How often each token has been sampled.
    counts: HashMap<u32, u16>,
    random: fastrand::Rng,
}

/// A token with its natural log-probability at temperature 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScoredToken {
    pub(super) token: u32,
    pub(super) logprob: f64,
}

impl Sampling {
    /// Creates the sampler of `request`.
    ///
    /// Sampling is greedy at temperature 0, which is the default, and deterministic with a seed. The frequency penalty
    /// is subtracted from a token's logit once per earlier occurrence, as in OpenAI's API.
    pub(super) fn new(request: &ChatRequest) -> Self {
        Self {
            temperature: request.temperature.unwrap_or_default(),
            penalty: request.frequency_penalty.unwrap_or_default(),
            counts: HashMap::new(),
            random: request.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed),
        }
    }

    /// Samples a token. `None` if `logits` is empty or contains NaN.
    pub(super) fn sample(&mut self, logits: &[f32]) -> Option<u32> {
        let logits = self.penalised(logits);
        let token = self.draw(&logits)?;
        let count = self.counts.entry(token).or_default();
        *count = count.saturating_add(1);
        Some(token)
    }

    fn penalised<'a>(&self, logits: &'a [f32]) -> Cow<'a, [f32]> {
        let mut logits = Cow::Borrowed(logits);
        if self.penalty != 0.0 {
            for (token, count) in &self.counts {
                if let Some(logit) = logits.to_mut().get_mut(*token as usize) {
                    *logit -= self.penalty * f32::from(*count);
                }
            }
        }
        logits
    }

    fn draw(&mut self, logits: &[f32]) -> Option<u32> {
        let best = best(logits)?;
        if self.temperature < 1e-5 {
            return u32::try_from(best).ok();
        }
        let max = logits.get(best).copied()?;
        let weight = |logit: &f32| f64::from((logit - max) / self.temperature).exp();
        let mut left = self.random.f64() * logits.iter().map(weight).sum::<f64>();
        let found = logits.iter().position(|logit| {
            left -= weight(logit);
            left < 0.0
        });
        u32::try_from(found.unwrap_or(best)).ok()
    }
}

/// The index of the largest logit. `None` if there is none or one is NaN.
fn best(logits: &[f32]) -> Option<usize> {
    if logits.iter().any(|logit| logit.is_nan()) {
        return None;
    }
    let best = logits.iter().enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
    best.map(|(index, _)| index)
}

/// Returns the log-probability of `token`, and the `count` most likely tokens, best first.
pub(super) fn top_logprobs(logits: &[f32], token: u32, count: usize) -> (ScoredToken, Vec<ScoredToken>) {
    let max = logits.iter().copied().fold(f32::MIN, f32::max);
    let sum: f64 = logits.iter().map(|logit| f64::from(logit - max).exp()).sum();
    let logprob = |logit: f32| (f64::from(logit - max) - sum.ln()).min(0.0);
    let descending = |a: &(u32, f32), b: &(u32, f32)| match b.1.total_cmp(&a.1) {
        Ordering::Equal => a.0.cmp(&b.0),
        order => order,
    };
    let mut ranked: Vec<(u32, f32)> = (0..).zip(logits.iter().copied()).collect();
    if count < ranked.len() {
        ranked.select_nth_unstable_by(count, descending);
        ranked.truncate(count);
    }
    ranked.sort_unstable_by(descending);
    let scored = |(token, logit)| ScoredToken {
        token,
        logprob: logprob(logit),
    };
    let sampled = logits.get(token as usize).copied().unwrap_or(f32::MIN);
    (scored((token, sampled)), ranked.into_iter().map(scored).collect())
}

#[cfg(test)]
mod tests;

//! From logits to the next token and to what could have stood in its place.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use crate::chat::ChatRequest;

/// How tokens are chosen.
pub(super) struct Sampling {
    temperature: f32,
    penalty: f32,
    /// How often each token has been chosen.
    said: HashMap<u32, u16>,
    random: fastrand::Rng,
}

/// A token and its natural log-probability at temperature 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Likely {
    pub(super) token: u32,
    pub(super) logprob: f64,
}

impl Sampling {
    /// At a temperature of 0, which is also that of a request without one, the likeliest token is chosen; the same seed
    /// chooses the same tokens again. As often as a token has been chosen, its logit is less by the frequency penalty,
    /// as in OpenAI's API.
    pub(super) fn new(request: &ChatRequest) -> Self {
        Self {
            temperature: request.temperature.unwrap_or_default(),
            penalty: request.frequency_penalty.unwrap_or_default(),
            said: HashMap::new(),
            random: request.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed),
        }
    }

    /// A token; `None` where a logit is no number.
    pub(super) fn choose(&mut self, logits: &[f32]) -> Option<u32> {
        let logits = self.penalised(logits);
        let token = self.draw(&logits)?;
        let count = self.said.entry(token).or_default();
        *count = count.saturating_add(1);
        Some(token)
    }

    fn penalised<'a>(&self, logits: &'a [f32]) -> Cow<'a, [f32]> {
        let mut logits = Cow::Borrowed(logits);
        if self.penalty != 0.0 {
            for (token, count) in &self.said {
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
        let most = logits.get(best).copied()?;
        let weight = |logit: &f32| f64::from((logit - most) / self.temperature).exp();
        let mut left = self.random.f64() * logits.iter().map(weight).sum::<f64>();
        let found = logits.iter().position(|logit| {
            left -= weight(logit);
            left < 0.0
        });
        u32::try_from(found.unwrap_or(best)).ok()
    }
}

fn best(logits: &[f32]) -> Option<usize> {
    if logits.iter().any(|logit| logit.is_nan()) {
        return None;
    }
    let best = logits.iter().enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
    best.map(|(index, _)| index)
}

/// The log-probability of `token`, and the `count` likeliest tokens, best first.
pub(super) fn likelihoods(logits: &[f32], token: u32, count: usize) -> (Likely, Vec<Likely>) {
    let most = logits.iter().copied().fold(f32::MIN, f32::max);
    let sum: f64 = logits.iter().map(|logit| f64::from(logit - most).exp()).sum();
    let logprob = |logit: f32| (f64::from(logit - most) - sum.ln()).min(0.0);
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
    let likely = |(token, logit)| Likely {
        token,
        logprob: logprob(logit),
    };
    let chosen = logits.get(token as usize).copied().unwrap_or(f32::MIN);
    (likely((token, chosen)), ranked.into_iter().map(likely).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGITS: [f32; 4] = [0.0, 2.0, 1.0, -30.0];

    fn sampling(temperature: f32, seed: Option<u64>, penalty: Option<f32>) -> Sampling {
        Sampling::new(&ChatRequest {
            temperature: Some(temperature),
            seed,
            frequency_penalty: penalty,
            ..ChatRequest::default()
        })
    }

    #[test]
    fn cold_takes_the_likeliest_and_a_seed_repeats() {
        assert_eq!(sampling(0.0, None, None).choose(&LOGITS), Some(1));
        let draw = |seed| {
            let mut sampling = sampling(1.0, Some(seed), None);
            (0..200).filter_map(|_| sampling.choose(&LOGITS)).collect::<Vec<u32>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn a_penalty_is_paid_each_time_a_token_was_said_and_a_negative_one_is_a_premium() {
        let said = |penalty| {
            let mut sampling = sampling(0.0, None, penalty);
            (0..6).filter_map(|_| sampling.choose(&LOGITS)).collect::<Vec<u32>>()
        };
        // From 0, 2 and 1 with 0.75 less each time: 2, 1.25, 1, 0.5, 0.25, 0.
        assert_eq!(said(Some(0.75)), [1, 1, 2, 1, 2, 0]);
        for penalty in [None, Some(0.0), Some(-1.0)] {
            assert_eq!(said(penalty), [1; 6], "{penalty:?}");
        }
        let mut sampling = sampling(0.0, None, Some(-0.2));
        assert_eq!(sampling.choose(&[0.1, 0.0]), Some(0));
        assert_eq!(sampling.choose(&[0.0, 0.1]), Some(0));
    }

    #[test]
    fn tokens_are_drawn_as_often_as_they_are_likely() {
        let mut sampling = sampling(0.5, Some(1), None);
        let mut counts = [0_u32; 4];
        for _ in 0..20_000 {
            counts[sampling.choose(&LOGITS).unwrap() as usize] += 1;
        }
        let weights = LOGITS.map(|logit| f64::from(logit / 0.5).exp());
        let sum: f64 = weights.iter().sum();
        for (count, weight) in counts.iter().zip(weights) {
            let (drawn, expected) = (f64::from(*count) / 20_000.0, weight / sum);
            assert!((drawn - expected).abs() < 0.015, "{drawn} drawn, {expected} expected");
        }
    }

    #[test]
    fn numbers_that_are_none_choose_nothing() {
        assert_eq!(sampling(0.0, None, None).choose(&[0.0, f32::NAN]), None);
        assert_eq!(sampling(1.0, None, None).choose(&[]), None);
    }

    #[test]
    fn the_likeliest_come_first_and_all_together_are_one() {
        let (chosen, top) = likelihoods(&LOGITS, 2, 2);
        assert_eq!(top.iter().map(|likely| likely.token).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(chosen, top[1]);
        let (_, all) = likelihoods(&LOGITS, 0, 99);
        assert_eq!(all.len(), 4);
        assert!((all.iter().map(|likely| likely.logprob.exp()).sum::<f64>() - 1.0).abs() < 1e-9);
    }
}

//! From logits to the next token and to what could have stood in its place.

use std::cmp::Ordering;

/// How tokens are chosen.
pub(super) struct Sampling {
    temperature: f32,
    random: fastrand::Rng,
}

/// A token and its natural log-probability at temperature 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Likely {
    pub(super) token: u32,
    pub(super) logprob: f64,
}

impl Sampling {
    /// At a temperature of 0 the likeliest token is chosen; the same `seed` chooses the same tokens again.
    pub(super) fn new(temperature: f32, seed: Option<u64>) -> Self {
        Self {
            temperature,
            random: seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed),
        }
    }

    /// A token; `None` where a logit is no number.
    pub(super) fn choose(&mut self, logits: &[f32]) -> Option<u32> {
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

    #[test]
    fn cold_takes_the_likeliest_and_a_seed_repeats() {
        assert_eq!(Sampling::new(0.0, None).choose(&LOGITS), Some(1));
        let draw = |seed| {
            let mut sampling = Sampling::new(1.0, Some(seed));
            (0..200).filter_map(|_| sampling.choose(&LOGITS)).collect::<Vec<u32>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn tokens_are_drawn_as_often_as_they_are_likely() {
        let mut sampling = Sampling::new(0.5, Some(1));
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
        assert_eq!(Sampling::new(0.0, None).choose(&[0.0, f32::NAN]), None);
        assert_eq!(Sampling::new(1.0, None).choose(&[]), None);
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

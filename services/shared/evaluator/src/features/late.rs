//! Late interaction (Khattab and Zaharia 2020): each token of a question finds the token of a text that is nearest to it.

use emend_models::embed::{Token, TokenVectors};
use emend_text::Script;

/// A token of a question that weighs less says too little to be missed.
const TELLING: f64 = 0.25;
/// Nearest cosines of a question's telling tokens are ordered, and the one at this share of them is looked at.
const LOW: f64 = 0.25;
/// The same for all tokens.
const TAIL: f64 = 0.1;

/// How near the tokens of a question or claim come to those of a text. Cosines, −1 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Near {
    /// The mean over the question's tokens, each weighted by how much its word tells.
    pub(super) mean: f64,
    /// The lower quartile of the tokens that tell something.
    pub(super) low: f64,
    /// The least of them.
    pub(super) least: f64,
    /// The mean over all tokens alike.
    pub(super) even: f64,
    /// The lowest tenth of all tokens: endings and particles count, such as those of a negation.
    pub(super) tail: f64,
}

/// How near the tokens of a question come to those of a passage as a whole, and of each of its sentences.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Late {
    pub(super) passage: Near,
    /// One a sentence, in order; that of the passage where a sentence has no token.
    pub(super) sentences: Vec<Near>,
    /// The highest [`Near::even`] of two sentences that follow each other: an answer may need both.
    pub(super) pair: f64,
    /// The [`Near::low`] of each sentence together with the one before it, which may name what a pronoun stands for.
    pub(super) with_before: Vec<f64>,
}

impl Late {
    /// Compares a question with a passage that was given in `sentences` pieces; `None` where either has no tokens.
    pub(crate) fn new(question: &TokenVectors, passage: &TokenVectors, sentences: usize) -> Option<Self> {
        let weights = weights(question.tokens());
        if weights.is_empty() || passage.tokens().is_empty() {
            return None;
        }
        // For each token of the question the nearest of each sentence; −1 where the sentence has none.
        let mut nearest = vec![vec![-1.0_f64; weights.len()]; sentences];
        let mut whole = vec![-1.0_f64; weights.len()];
        let mut seen = vec![false; sentences];
        for (at, token) in passage.tokens().iter().enumerate() {
            let Some(own) = nearest.get_mut(token.piece) else {
                continue;
            };
            seen[token.piece] = true;
            for (place, (best, over)) in own.iter_mut().zip(&mut whole).enumerate() {
                let cosine = f64::from(question.cosine(place, passage, at));
                *best = best.max(cosine);
                *over = over.max(cosine);
            }
        }
        let passage = Near::new(&whole, &weights);
        let pair = nearest
            .windows(2)
            .map(|two| mean(two[0].iter().zip(&two[1]).map(|(a, b)| a.max(*b))))
            .chain(nearest.iter().map(|own| mean(own.iter().copied())))
            .fold(-1.0, f64::max);
        let with_before = (0..nearest.len()).map(|index| {
            let two = &nearest[index.saturating_sub(1)..=index];
            let both = (0..weights.len()).map(|place| two.iter().fold(-1.0, |best: f64, own| best.max(own[place])));
            Near::new(&both.collect::<Vec<_>>(), &weights).low
        });
        let with_before = with_before.collect();
        let sentences = nearest
            .iter()
            .zip(seen)
            .map(|(own, seen)| if seen { Near::new(own, &weights) } else { passage });
        Some(Self {
            passage,
            sentences: sentences.collect(),
            pair,
            with_before,
        })
    }

    /// The sentence with the highest mean.
    pub(super) fn best(&self) -> Near {
        let best = self.sentences.iter().max_by(|a, b| a.mean.total_cmp(&b.mean));
        best.copied().unwrap_or(self.passage)
    }

    /// How far the best sentence's mean is ahead of the second best's; 0 where there is one sentence.
    pub(super) fn lead(&self) -> f64 {
        let mut means: Vec<f64> = self.sentences.iter().map(|near| near.mean).collect();
        means.sort_by(|a, b| b.total_cmp(a));
        match means[..] {
            [first, second, ..] => first - second,
            _ => 0.0,
        }
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

/// The value at a share of all, of values in order; 0 of none.
fn quantile(ordered: &[f64], share: f64) -> f64 {
    let place = (ordered.len().saturating_sub(1) as f64 * share).round() as usize;
    ordered.get(place).copied().unwrap_or_default()
}

impl Near {
    fn new(nearest: &[f64], weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let weighted = nearest.iter().zip(weights).map(|(cosine, weight)| cosine * weight);
        let mut all = nearest.to_vec();
        let mut telling: Vec<f64> = nearest
            .iter()
            .zip(weights)
            .filter(|(_, weight)| **weight >= TELLING)
            .map(|(cosine, _)| *cosine)
            .collect();
        if telling.is_empty() {
            telling.clone_from(&all);
        }
        telling.sort_by(f64::total_cmp);
        all.sort_by(f64::total_cmp);
        Self {
            mean: weighted.sum::<f64>() / total.max(1e-9),
            low: quantile(&telling, LOW),
            least: quantile(&telling, 0.0),
            even: mean(nearest.iter().copied()),
            tail: quantile(&all, TAIL),
        }
    }
}

/// How much each token tells: that of its word, shared by the word's tokens.
fn weights(tokens: &[Token]) -> Vec<f64> {
    // A vocabulary marks either the tokens that begin a word or those that go on with it.
    let marked = tokens.iter().any(|token| token.text.starts_with('▁'));
    let begins = |token: &Token| {
        if marked {
            token.text.starts_with('▁')
        } else {
            !token.text.starts_with("##")
        }
    };
    let mut weights = Vec::with_capacity(tokens.len());
    let mut rest = tokens;
    while let Some((_, others)) = rest.split_first() {
        let more = others.iter().take_while(|token| !begins(token)).count();
        let (own, after) = rest.split_at(more + 1);
        let word: String = own.iter().map(|token| plain(&token.text)).collect();
        if word.chars().any(Script::is_cjk) {
            weights.extend(own.iter().map(|token| cjk_weight(plain(&token.text))));
        } else {
            let rarity = emend_text::words(&word)
                .iter()
                .map(|word| emend_text::rarity(word))
                .fold(0.1, f64::max);
            weights.extend(std::iter::repeat_n(rarity / (own.len() as f64).sqrt(), own.len()));
        }
        rest = after;
    }
    weights
}

fn plain(token: &str) -> &str {
    token.trim_start_matches('▁').trim_start_matches("##")
}

/// Chinese and Japanese have no spaces, so their tokens stand for themselves; hiragana only holds a sentence together.
fn cjk_weight(token: &str) -> f64 {
    let tells = token
        .chars()
        .any(|c| c.is_alphanumeric() && !matches!(Script::of(c), Script::Hiragana | Script::Other));
    if tells { 1.0 } else { 0.15 }
}

#[cfg(test)]
mod tests;

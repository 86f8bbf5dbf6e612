//! Late interaction (Khattab and Zaharia 2020): each token of a question is matched with its most similar token of a
//! text (MaxSim).

use emend_models::embed::{Token, TokenVectors};
use emend_text::Script;

/// The minimum weight of a content token. Question tokens below it carry too little meaning to matter when missing.
const MIN_CONTENT_WEIGHT: f64 = 0.25;
/// The quantile of the content tokens' maximum cosines for [`TokenSimilarity::low`].
const LOW_QUANTILE: f64 = 0.25;
/// The quantile of all tokens' maximum cosines for [`TokenSimilarity::tail`].
const TAIL_QUANTILE: f64 = 0.1;

/// Statistics of the maximum cosine similarity of each token of a question or claim to the tokens of a text; −1 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TokenSimilarity {
    /// The mean over the question's tokens, weighted by the informativeness of their words.
    pub(super) mean: f64,
    /// The lower quartile over the content tokens.
    pub(super) low: f64,
    /// The minimum over the content tokens.
    pub(super) least: f64,
    /// The unweighted mean over all tokens.
    pub(super) even: f64,
    /// The lowest decile over all tokens. It includes endings and particles, such as those of a negation.
    pub(super) tail: f64,
}

/// Token similarity of a question to a passage as a whole and to each of its sentences.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Late {
    pub(super) passage: TokenSimilarity,
    /// One per sentence, in order; that of the passage for a sentence without tokens.
    pub(super) sentences: Vec<TokenSimilarity>,
    /// The highest [`TokenSimilarity::even`] of two adjacent sentences: an answer may need both.
    pub(super) pair: f64,
    /// The [`TokenSimilarity::low`] of each sentence together with the one before it, which may name what a pronoun
    /// refers to.
    pub(super) with_before: Vec<f64>,
}

impl Late {
    /// Compares a question with a passage that was embedded as `sentences` pieces; `None` if either has no tokens.
    pub(crate) fn new(question: &TokenVectors, passage: &TokenVectors, sentences: usize) -> Option<Self> {
        let weights = weights(question.tokens());
        if weights.is_empty() || passage.tokens().is_empty() {
            return None;
        }
        // A long text is embedded up to the embedder's limit: the sentences after that have no token.
        let read = passage.tokens().iter().map(|token| token.piece + 1).max().unwrap_or(0);
        let read = read.min(sentences);
        // The maximum cosine per sentence and question token; −1 if the sentence has no token.
        let mut nearest = vec![vec![-1.0_f64; weights.len()]; read];
        let mut whole = vec![-1.0_f64; weights.len()];
        let mut seen = vec![false; read];
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
        let passage = TokenSimilarity::new(&whole, &weights);
        let pair = nearest
            .windows(2)
            .map(|two| mean(two[0].iter().zip(&two[1]).map(|(a, b)| a.max(*b))))
            .chain(nearest.iter().map(|own| mean(own.iter().copied())))
            .fold(-1.0, f64::max);
        let with_before = (0..nearest.len()).map(|index| {
            let two = &nearest[index.saturating_sub(1)..=index];
            let both = (0..weights.len()).map(|place| two.iter().fold(-1.0, |best: f64, own| best.max(own[place])));
            TokenSimilarity::new(&both.collect::<Vec<_>>(), &weights).low
        });
        let mut with_before: Vec<f64> = with_before.collect();
        if let Some(last) = nearest.last().filter(|_| read < sentences) {
            with_before.push(TokenSimilarity::new(last, &weights).low);
        }
        with_before.resize(sentences, -1.0);
        let near = nearest.iter().zip(seen).map(|(own, seen)| {
            if seen {
                TokenSimilarity::new(own, &weights)
            } else {
                passage
            }
        });
        let mut near: Vec<TokenSimilarity> = near.collect();
        near.resize(sentences, passage);
        Some(Self {
            passage,
            sentences: near,
            pair,
            with_before,
        })
    }

    /// Joins parts of a text that were embedded separately; `None` without parts. Each comes with the index in the text of each
    /// of its sentences, `None` for a repeated heading. Of the text's `sentences` those that are in no part count as the least
    /// similar one.
    pub(crate) fn joined(parts: &[(Self, Vec<Option<usize>>)], sentences: usize) -> Option<Self> {
        let all = || parts.iter().flat_map(|(part, _)| &part.sentences).copied();
        let least = all().reduce(|a, b| a.each(b, f64::min))?;
        let wholes = parts.iter().map(|(part, _)| part.passage);
        let mut joined = Self {
            passage: wholes.reduce(|a, b| a.each(b, f64::max))?,
            sentences: vec![least; sentences],
            pair: parts.iter().map(|(part, _)| part.pair).fold(-1.0, f64::max),
            with_before: vec![least.low; sentences],
        };
        for (part, indices) in parts {
            let own = part.sentences.iter().zip(&part.with_before);
            for (index, (similarity, with_before)) in indices.iter().zip(own) {
                let Some(index) = index.filter(|index| *index < sentences) else {
                    continue;
                };
                joined.sentences[index] = *similarity;
                joined.with_before[index] = *with_before;
            }
        }
        Some(joined)
    }

    /// The sentence with the highest mean.
    pub(super) fn best(&self) -> TokenSimilarity {
        let best = self.sentences.iter().max_by(|a, b| a.mean.total_cmp(&b.mean));
        best.copied().unwrap_or(self.passage)
    }

    /// The difference of the best and the second best sentence's mean; 0 for one sentence.
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

/// The quantile at `share` of ascending values; 0 if there are none.
fn quantile(ordered: &[f64], share: f64) -> f64 {
    let place = (ordered.len().saturating_sub(1) as f64 * share).round() as usize;
    ordered.get(place).copied().unwrap_or_default()
}

impl TokenSimilarity {
    fn new(nearest: &[f64], weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let weighted = nearest.iter().zip(weights).map(|(cosine, weight)| cosine * weight);
        let mut all = nearest.to_vec();
        let mut content: Vec<f64> = nearest
            .iter()
            .zip(weights)
            .filter(|(_, weight)| **weight >= MIN_CONTENT_WEIGHT)
            .map(|(cosine, _)| *cosine)
            .collect();
        if content.is_empty() {
            content.clone_from(&all);
        }
        content.sort_by(f64::total_cmp);
        all.sort_by(f64::total_cmp);
        Self {
            mean: weighted.sum::<f64>() / total.max(1e-9),
            low: quantile(&content, LOW_QUANTILE),
            least: quantile(&content, 0.0),
            even: mean(nearest.iter().copied()),
            tail: quantile(&all, TAIL_QUANTILE),
        }
    }

    fn each(self, other: Self, choose: fn(f64, f64) -> f64) -> Self {
        Self {
            mean: choose(self.mean, other.mean),
            low: choose(self.low, other.low),
            least: choose(self.least, other.least),
            even: choose(self.even, other.even),
            tail: choose(self.tail, other.tail),
        }
    }
}

/// The weight of each token: its word's rarity divided by the square root of the word's number of tokens.
fn weights(tokens: &[Token]) -> Vec<f64> {
    // A vocabulary marks either the first token of a word (SentencePiece) or the following ones (WordPiece).
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

/// The weight of a token in text without spaces, where tokens stand for themselves. Hiragana counts as function words.
fn cjk_weight(token: &str) -> f64 {
    let is_content = token
        .chars()
        .any(|c| c.is_alphanumeric() && !matches!(Script::of(c), Script::Hiragana | Script::Other));
    if is_content { 1.0 } else { 0.15 }
}

#[cfg(test)]
mod tests;

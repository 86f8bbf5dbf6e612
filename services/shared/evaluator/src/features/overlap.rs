//! Lexical overlap of two texts: shared words, n-grams and subsequences, negation and antonyms.

use std::collections::HashSet;
use std::hash::Hash;
use std::ops::Range;
use std::sync::LazyLock;

use emend_text::rarity;

use super::view::{View, Word, word};

/// Most words of a text of which a longest common subsequence is sought: the time is the product of two lengths.
const MAX_SUBSEQUENCE: usize = 512;

/// Distinct words with their weights.
#[derive(Clone, Debug)]
pub(crate) struct Weighted {
    words: Vec<(Word, f64)>,
    /// The same, heaviest first.
    by_weight: Vec<(Word, f64)>,
    total: f64,
}

impl Weighted {
    pub(super) fn new(words: &[String]) -> Self {
        let mut seen = HashSet::new();
        let distinct = words.iter().filter(|word| seen.insert(word.as_str()));
        Self::of(distinct.map(|own| (word(own), rarity(own))).collect())
    }

    /// Only the words that are not `known`.
    pub(super) fn without(&self, known: impl Fn(Word) -> bool) -> Self {
        let rest = self.words.iter().filter(|(word, _)| !known(*word));
        Self::of(rest.copied().collect())
    }

    fn of(words: Vec<(Word, f64)>) -> Self {
        let total = words.iter().map(|(_, weight)| weight).sum::<f64>().max(1e-9);
        let mut by_weight = words.clone();
        by_weight.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        Self {
            words,
            by_weight,
            total,
        }
    }

    /// The share of the total weight of the words that match `has`, 0–1; 1 if there are no words.
    pub(super) fn share(&self, has: impl Fn(Word) -> bool) -> f64 {
        if self.words.is_empty() {
            return 1.0;
        }
        self.words
            .iter()
            .filter(|(word, _)| has(*word))
            .map(|(_, weight)| weight)
            .sum::<f64>()
            / self.total
    }

    /// The place of the first of these words in a text, 0–1; 1 if it has none of them.
    pub(super) fn first_place(&self, text: &[Word]) -> f64 {
        let known = |word: &Word| self.words.iter().any(|(own, _)| own == word);
        let place = text.iter().position(known);
        place.map_or(1.0, |place| place as f64 / text.len() as f64)
    }

    /// The unweighted share of the words that match `has`, 0–1; 1 if there are no words.
    pub(super) fn plain_share(&self, has: impl Fn(Word) -> bool) -> f64 {
        if self.words.is_empty() {
            return 1.0;
        }
        self.words.iter().filter(|(word, _)| has(*word)).count() as f64 / self.words.len() as f64
    }

    /// For each sentence of a text the [`share`](Self::share) of words in it, or in up to `before` sentences before it or
    /// `after` after it, or for which `anyway` holds.
    pub(super) fn shares(
        &self,
        text: &View,
        (before, after): (usize, usize),
        anyway: impl Fn(Word) -> bool,
    ) -> Vec<f64> {
        let count = text.sentences.len();
        if self.words.is_empty() {
            return vec![1.0; count];
        }
        let mut sums = vec![0.0_f64; count];
        for (word, weight) in &self.words {
            let mut add = |sentences: Range<usize>| {
                for sum in sums.get_mut(sentences).unwrap_or_default() {
                    *sum += weight;
                }
            };
            if anyway(*word) {
                add(0..count);
                continue;
            }
            let mut next = 0;
            for place in text.places_of(*word) {
                let sentences = place.saturating_sub(after).max(next)..(place + before + 1).min(count);
                next = sentences.end.max(next);
                if sentences.start < sentences.end {
                    add(sentences);
                }
            }
        }
        for sum in &mut sums {
            *sum /= self.total;
        }
        sums
    }

    /// For each sentence of a text the unweighted share of words in it.
    pub(super) fn plain_shares(&self, text: &View) -> Vec<f64> {
        let count = text.sentences.len();
        if self.words.is_empty() {
            return vec![1.0; count];
        }
        let mut found = vec![0_usize; count];
        for place in self.words.iter().flat_map(|(word, _)| text.places_of(*word)) {
            if let Some(found) = found.get_mut(place) {
                *found += 1;
            }
        }
        found
            .into_iter()
            .map(|found| found as f64 / self.words.len() as f64)
            .collect()
    }

    /// The weight of the rarest missing word; 0 if none is missing.
    pub(super) fn missing_rarest(&self, has: impl Fn(Word) -> bool) -> f64 {
        let rarest = self.by_weight.iter().find(|(word, _)| !has(*word));
        rarest.map_or(0.0, |(_, weight)| weight.max(0.0))
    }

    /// The weight of the rarest missing word, and the total weight of the missing words.
    pub(super) fn missing(&self, has: impl Fn(Word) -> bool) -> (f64, f64) {
        self.words
            .iter()
            .filter(|(word, _)| !has(*word))
            .fold((0.0, 0.0), |(rarest, sum), (_, weight)| {
                (f64::max(rarest, *weight), sum + weight)
            })
    }
}

/// The share of the n-grams of `claim` that `text` contains, 0–1; 0 if there are none.
pub(super) fn ngram_overlap<T: Eq + Hash>(claim: &[T], text: &[T], n: usize) -> f64 {
    let runs = claim.windows(n);
    if runs.len() == 0 {
        return 0.0;
    }
    let known: HashSet<&[T]> = text.windows(n).collect();
    let count = runs.len();
    runs.filter(|run| known.contains(run)).count() as f64 / count as f64
}

/// The length of the longest common subsequence of words as a share of `claim`; of each the first 512 words.
pub(super) fn subsequence<T: PartialEq>(claim: &[T], text: &[T]) -> f64 {
    let first = |words: &[T]| words.len().min(MAX_SUBSEQUENCE);
    let (claim, text) = (&claim[..first(claim)], &text[..first(text)]);
    let mut row = vec![0usize; text.len() + 1];
    for word in claim {
        let mut diagonal = 0;
        for (index, other) in text.iter().enumerate() {
            let above = row[index + 1];
            row[index + 1] = if word == other {
                diagonal + 1
            } else {
                above.max(row[index])
            };
            diagonal = above;
        }
    }
    row[text.len()] as f64 / claim.len().max(1) as f64
}

const NEGATIONS: &[&str] = &[
    " not ",
    "n't ",
    "n’t ",
    " never ",
    " no ",
    " without ",
    " none ",
    " nor ",
    " neither ",
    " nobody ",
    " nothing ",
    "cannot",
    " nicht ",
    " kein ",
    " keine ",
    " keinen ",
    " ohne ",
    " pas ",
    " jamais ",
    " sans ",
    " nunca ",
    " não ",
    " senza ",
    " niet ",
    " geen ",
    " zonder ",
    "않",
    "아니",
    "없",
    "못하",
    "못했",
    "ない",
    "ません",
    "なかった",
    "なく",
    "ず、",
    "不",
    "沒",
    "没",
    "未",
    "非",
    "无",
    "無",
];

/// Whether a sentence contains a negation.
pub(super) fn has_negation(lower: &str) -> bool {
    let padded = format!(" {} ", lower.replace(['.', ',', '?', '!', ';'], " "));
    NEGATIONS.iter().any(|word| padded.contains(word))
}

const OPPOSITES: &[&[&str]] = &[
    &["first", "last"],
    &["more", "less", "few"],
    &["most", "least"],
    &["increas", "decreas"],
    &["largest", "smallest"],
    &["befor", "after"],
    &["highest", "lowest"],
    &["alwai", "never"],
    &["begin", "end"],
    &["north", "south"],
    &["east", "west"],
    &["northern", "southern"],
    &["eastern", "western"],
    &["win", "los"],
    &["high", "low"],
    &["above", "below"],
    &["accept", "reject"],
    &["rise", "fall"],
    &["best", "worst"],
    &["earli", "lat"],
    &["oldest", "newest", "youngest"],
    &["allow", "prohibit", "ban"],
    &["positiv", "negativ"],
    &["mal", "femal"],
    &["support", "oppos"],
    &["includ", "exclud"],
    &["major", "minor"],
    &["left", "right"],
    &["open", "clos"],
    &["mother", "father"],
    &["brother", "sister"],
    &["son", "daughter"],
    &["summer", "winter"],
    &["buy", "sell"],
    &["import", "export"],
    &["최초", "마지"],
    &["북쪽", "남쪽"],
    &["증가", "감소"],
    &["増加", "減少"],
    &["増加", "減"],
    &["增加", "减少"],
    &["增加", "減少"],
    &["最大", "最小"],
    &["最高", "最低"],
    &["男性", "女性"],
    &["最初", "最後"],
    &["最早", "最晚"],
    &["左", "右"],
    &["以前", "以後"],
    &["北部", "南部"],
    &["東部", "西部"],
    &["东部", "西部"],
];

/// Whether a sentence has the antonym of a word of `claim` instead of the word.
pub(super) fn has_antonym(claim: &View, sentence: &HashSet<Word>) -> bool {
    static WORDS: LazyLock<Vec<Vec<Word>>> = LazyLock::new(|| {
        let hashed = |words: &&[&str]| words.iter().map(|own| word(own)).collect();
        OPPOSITES.iter().map(hashed).collect()
    });
    WORDS.iter().any(|words| {
        let said: Vec<&Word> = words.iter().filter(|word| claim.has(**word)).collect();
        !said.is_empty()
            && !said.iter().any(|word| sentence.contains(*word))
            && words.iter().any(|word| sentence.contains(word))
    })
}

#[cfg(test)]
mod tests;

//! Lexical overlap of two texts: shared words, n-grams and subsequences, negation and antonyms.

use std::collections::HashSet;

use emend_text::rarity;

/// Distinct words with their weights.
#[derive(Clone, Debug)]
pub(crate) struct Weighted {
    words: Vec<(String, f64)>,
    total: f64,
}

impl Weighted {
    pub(super) fn new(words: &[String]) -> Self {
        let mut seen = HashSet::new();
        let words: Vec<(String, f64)> = words
            .iter()
            .filter(|word| seen.insert(*word))
            .map(|word| (word.clone(), rarity(word)))
            .collect();
        let total = words.iter().map(|(_, weight)| weight).sum::<f64>().max(1e-9);
        Self { words, total }
    }

    /// The share of the total weight of the words that match `has`, 0–1; 1 if there are no words.
    pub(super) fn share(&self, has: impl Fn(&str) -> bool) -> f64 {
        if self.words.is_empty() {
            return 1.0;
        }
        self.words
            .iter()
            .filter(|(word, _)| has(word))
            .map(|(_, weight)| weight)
            .sum::<f64>()
            / self.total
    }

    /// The unweighted share of the words that match `has`, 0–1; 1 if there are no words.
    pub(super) fn plain_share(&self, has: impl Fn(&str) -> bool) -> f64 {
        if self.words.is_empty() {
            return 1.0;
        }
        self.words.iter().filter(|(word, _)| has(word)).count() as f64 / self.words.len() as f64
    }

    /// The weight of the rarest missing word, and the total weight of the missing words.
    pub(super) fn missing(&self, has: impl Fn(&str) -> bool) -> (f64, f64) {
        self.words
            .iter()
            .filter(|(word, _)| !has(word))
            .fold((0.0, 0.0), |(rarest, sum), (_, weight)| {
                (f64::max(rarest, *weight), sum + weight)
            })
    }
}

/// The share of the n-grams of `claim` that `text` contains, 0–1; 0 if there are none.
pub(super) fn ngram_overlap<S: AsRef<str>, T: AsRef<str>>(claim: &[S], text: &[T], n: usize) -> f64 {
    let known: HashSet<Vec<&str>> = text
        .windows(n)
        .map(|run| run.iter().map(AsRef::as_ref).collect())
        .collect();
    let runs: Vec<Vec<&str>> = claim
        .windows(n)
        .map(|run| run.iter().map(AsRef::as_ref).collect())
        .collect();
    if runs.is_empty() {
        return 0.0;
    }
    runs.iter().filter(|run| known.contains(*run)).count() as f64 / runs.len() as f64
}

/// The length of the longest common subsequence of words as a share of `claim`.
pub(super) fn subsequence<S: AsRef<str>, T: AsRef<str>>(claim: &[S], text: &[T]) -> f64 {
    let mut row = vec![0usize; text.len() + 1];
    for word in claim {
        let mut diagonal = 0;
        for (index, other) in text.iter().enumerate() {
            let above = row[index + 1];
            row[index + 1] = if word.as_ref() == other.as_ref() {
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

/// Whether `text` has the antonym of a word of `claim` instead of the word.
pub(super) fn has_antonym(claim: &HashSet<String>, text: &HashSet<String>) -> bool {
    OPPOSITES.iter().any(|words| {
        let said: Vec<&&str> = words.iter().filter(|word| claim.contains(**word)).collect();
        !said.is_empty()
            && !said.iter().any(|word| text.contains(**word))
            && words.iter().any(|word| text.contains(*word))
    })
}

#[cfg(test)]
mod tests;

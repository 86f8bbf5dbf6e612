//! When two queries are the same, and how long one may be.

use std::collections::HashSet;

use emend_text::Script;
use unicode_normalization::UnicodeNormalization;

/// Longest query in tokens where a request does not say, as Self-RAG's rewriter has it.
pub(crate) const MAX_TOKENS: usize = 128;

/// What is left of a query when case, width, spacing and its last punctuation mark do not count.
pub(crate) fn key(query: &str) -> String {
    let folded: String = query
        .nfkc()
        .flat_map(char::to_lowercase)
        .nfkc()
        .filter(|c| !c.is_whitespace())
        .collect();
    let kept = folded.trim_end_matches(emend_text::is_sentence_end);
    if kept.is_empty() { folded } else { kept.to_owned() }
}

/// Queries that did not help.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failed(HashSet<String>);

impl Failed {
    pub(crate) fn new(queries: &[String]) -> Self {
        Self(
            queries
                .iter()
                .map(|query| key(query))
                .filter(|key| !key.is_empty())
                .collect(),
        )
    }

    /// Whether `query` says something, and nothing that has failed.
    pub(crate) fn allows(&self, query: &str) -> bool {
        let key = key(query);
        key.contains(char::is_alphanumeric) && !self.0.contains(&key)
    }

    /// How many different queries have failed, `question` itself not counted.
    pub(crate) fn attempts(&self, question: &str) -> usize {
        self.0.len() - usize::from(self.0.contains(&key(question)))
    }
}

/// How many tokens `text` has, counted without a tokeniser: a character of Chinese, Japanese or Korean is one, four
/// letters or three digits are one.
pub(crate) fn tokens(text: &str) -> usize {
    text.chars().map(twelfths).sum::<usize>().div_ceil(12)
}

fn twelfths(c: char) -> usize {
    match Script::of(c) {
        Script::Alphabet => 3,
        Script::Digit => 4,
        _ if c.is_whitespace() => 1,
        _ => 12,
    }
}

/// `query` without what goes beyond `most` of these tokens.
pub(crate) fn shortened(query: &str, most: usize) -> &str {
    let mut read = 0;
    let mut last_space = 0;
    for (at, c) in query.char_indices() {
        read += twelfths(c);
        if c.is_whitespace() {
            last_space = at;
        }
        if read > most * 12 {
            // Better a word less than half a word.
            let cut = if last_space * 2 > at { last_space } else { at };
            return query[..cut].trim_end();
        }
    }
    query
}

#[cfg(test)]
mod tests;

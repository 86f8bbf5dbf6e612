//! Query normalization and length limits.

use std::collections::HashSet;

use emend_text::Script;
use unicode_normalization::UnicodeNormalization;

/// Default maximum length of a query in tokens, as in the query rewriter of Self-RAG.
pub(crate) const DEFAULT_MAX_TOKENS: usize = 128;

/// Normalizes a query for comparison: case, width, white space and trailing sentence terminators are ignored.
pub(crate) fn normalized(query: &str) -> String {
    let folded: String = query
        .nfkc()
        .flat_map(char::to_lowercase)
        .nfkc()
        .filter(|c| !c.is_whitespace())
        .collect();
    let kept = folded.trim_end_matches(emend_text::is_sentence_end);
    if kept.is_empty() { folded } else { kept.to_owned() }
}

/// Queries that have failed before.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailedQueries(HashSet<String>);

impl FailedQueries {
    pub(crate) fn new(queries: &[String]) -> Self {
        Self(
            queries
                .iter()
                .map(|query| normalized(query))
                .filter(|normalized| !normalized.is_empty())
                .collect(),
        )
    }

    /// Whether `query` has a letter or digit and has not failed.
    pub(crate) fn allows(&self, query: &str) -> bool {
        let normalized = normalized(query);
        normalized.contains(char::is_alphanumeric) && !self.0.contains(&normalized)
    }

    /// The number of distinct failed queries, not counting `question` itself.
    pub(crate) fn attempts(&self, question: &str) -> usize {
        self.0.len() - usize::from(self.0.contains(&normalized(question)))
    }
}

/// Estimates the number of tokens of `text` without a tokenizer. A Chinese, Japanese or Korean character counts as one
/// token, four letters or three digits as one.
pub(crate) fn estimated_tokens(text: &str) -> usize {
    text.chars().map(twelfths_of_token).sum::<usize>().div_ceil(12)
}

fn twelfths_of_token(c: char) -> usize {
    match Script::of(c) {
        Script::Alphabet => 3,
        Script::Digit => 4,
        _ if c.is_whitespace() => 1,
        _ => 12,
    }
}

/// Truncates `query` to `max_tokens` estimated tokens.
pub(crate) fn truncated(query: &str, max_tokens: usize) -> &str {
    let mut read = 0;
    let mut last_space = 0;
    for (at, c) in query.char_indices() {
        read += twelfths_of_token(c);
        if c.is_whitespace() {
            last_space = at;
        }
        if read > max_tokens * 12 {
            // Cut at a word boundary unless that loses half the text.
            let cut = if last_space * 2 > at { last_space } else { at };
            return query[..cut].trim_end();
        }
    }
    query
}

#[cfg(test)]
mod tests;

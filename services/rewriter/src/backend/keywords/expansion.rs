//! Query expansion with terms of the passages of a failed retrieval.
//!
//! Pseudo-relevance feedback (Rocchio 1971; Lavrenko and Croft 2001) without a model. A term's score is the product of
//! its rarity, the share of the question's words in its sentence, and the reciprocal rank of its passage.

use std::collections::{HashMap, HashSet};

use emend_proto::v1::RewriteRequest;
use emend_text::{content_words, sentences, words};

use super::terms::{Kind, terms};
use crate::queries::normalized;

/// Maximum bytes read of each passage.
const READ_BYTES: usize = 16 * 1024;
/// Maximum length of a term in characters. A longer one is a phrase that only its own passage contains.
const MAX_TERM: usize = 40;
/// Maximum number of terms.
const MAX_TERMS: usize = 24;

/// Terms of the passages that occur neither in the question nor in a failed query, highest score first.
pub(super) fn expansion(request: &RewriteRequest) -> Vec<String> {
    let asked: HashSet<String> = content_words(&request.question).into_iter().collect();
    let mut tried = asked.clone();
    tried.extend(request.failed_queries.iter().flat_map(|query| words(query)));
    let mut scores: HashMap<String, (f64, String)> = HashMap::new();
    for (rank, passage) in request.passages.iter().enumerate() {
        let text = start(&passage.text);
        let title = std::iter::once(passage.title.as_str()).filter(|title| !title.is_empty());
        for sentence in title.chain(sentences(text).into_iter().map(|range| &text[range])) {
            let said: HashSet<String> = words(sentence).into_iter().collect();
            let shared = asked.intersection(&said).count() as f64 / asked.len().max(1) as f64;
            for term in terms(sentence) {
                let new = words(&term.text).iter().any(|word| !tried.contains(word));
                if !new || term.text.chars().count() > MAX_TERM || term.weight < 0.7 {
                    continue;
                }
                // Numbers are more often answers than search terms.
                let kind = if term.kind == Kind::Number { 0.3 } else { 1.0 };
                let score = kind * term.weight * (0.1 + shared) / (rank + 1) as f64;
                scores
                    .entry(normalized(&term.text))
                    .or_insert_with(|| (0.0, term.text))
                    .0 += score;
            }
        }
    }
    let mut found: Vec<(f64, String)> = scores.into_values().collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.into_iter().take(MAX_TERMS).map(|(_, term)| term).collect()
}

fn start(text: &str) -> &str {
    let mut end = text.len().min(READ_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests;

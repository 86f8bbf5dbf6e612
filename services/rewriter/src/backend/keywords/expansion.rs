//! Query expansion with terms of the passages of a failed retrieval.
//!
//! Pseudo-relevance feedback (Rocchio 1971; Lavrenko and Croft 2001) without a model. A term's score is the product of
//! its rarity, the share of the question's words in its sentence, and the reciprocal rank of its passage.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use emend_core::{BrokenOff, Turns};
use emend_proto::v1::{Passage, RewriteRequest};
use emend_text::{content_words, sentences, words};

use super::terms::{Kind, terms};
use crate::queries::normalized;

/// Maximum bytes read of each passage, and of its title.
const READ_BYTES: usize = 16 * 1024;
/// Maximum length of a term in characters. A longer one is a phrase that only its own passage contains.
const MAX_TERM: usize = 40;
/// Maximum number of terms.
const MAX_TERMS: usize = 24;

/// A term of a passage, normalized and as it stands, and its score there.
type Scored = (String, f64, String);

/// Terms of the passages that occur neither in the question nor in a failed query, highest score first.
pub(super) async fn expansion(request: &Arc<RewriteRequest>) -> Result<Vec<String>, BrokenOff> {
    let turns = Turns::shared();
    let of_request = Arc::clone(request);
    let known = turns.piece(request.question.len(), move || {
        let asked: HashSet<String> = content_words(&of_request.question).into_iter().collect();
        let mut tried = asked.clone();
        tried.extend(of_request.failed_queries.iter().flat_map(|query| words(query)));
        (asked, tried)
    });
    let known = Arc::new(known.await?);
    let size = |rank: &usize| {
        request
            .passages
            .get(*rank)
            .map_or(0, |passage| passage.text.len().min(READ_BYTES))
    };
    let of_request = Arc::clone(request);
    let scored = turns.each(0..request.passages.len(), size, move |rank| {
        let (asked, tried) = &*known;
        of_request
            .passages
            .get(rank)
            .map_or_else(Vec::new, |passage| of_passage(rank, passage, asked, tried))
    });
    let mut scores: HashMap<String, (f64, String)> = HashMap::new();
    for (term, score, text) in scored.await?.into_iter().flatten() {
        scores.entry(term).or_insert_with(|| (0.0, text)).0 += score;
    }
    let mut found: Vec<(f64, String)> = scores.into_values().collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    Ok(found.into_iter().take(MAX_TERMS).map(|(_, term)| term).collect())
}

fn of_passage(rank: usize, passage: &Passage, asked: &HashSet<String>, tried: &HashSet<String>) -> Vec<Scored> {
    let text = start(&passage.text);
    let title = std::iter::once(start(&passage.title)).filter(|title| !title.is_empty());
    let mut scored = Vec::new();
    for sentence in title.chain(sentences(text).into_iter().map(|range| &text[range])) {
        let said: HashSet<String> = words(sentence).into_iter().collect();
        let shared = asked.intersection(&said).count() as f64 / asked.len().max(1) as f64;
        for term in terms(sentence) {
            let new = words(&term.text).iter().any(|word| !tried.contains(word));
            let is_stamp = term.kind != Kind::Number && is_mostly_digits(&term.text);
            if !new || is_stamp || term.text.chars().count() > MAX_TERM || term.weight < 0.7 {
                continue;
            }
            // Numbers are more often answers than search terms.
            let kind = if term.kind == Kind::Number { 0.3 } else { 1.0 };
            let score = kind * term.weight * (0.1 + shared) / (rank + 1) as f64;
            scored.push((normalized(&term.text), score, term.text));
        }
    }
    scored
}

/// Whether a term is a time, a version or an id, such as the `2026-03-02T09:14:55Z` of a log, which is in one line only.
fn is_mostly_digits(term: &str) -> bool {
    let digits = term.chars().filter(char::is_ascii_digit).count();
    let letters = term.chars().filter(|c| c.is_alphabetic()).count();
    digits > letters
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

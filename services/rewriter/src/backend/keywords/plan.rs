//! The order in which queries are tried.

use std::cmp::Reverse;

use emend_proto::v1::RewriteRequest;
use emend_text::Script;

use super::chinese;
use super::expansion::expansion;
use super::terms::{Kind, Term, terms};

/// Most terms of the question in one query: a search for everything finds anything.
const MAX_TERMS: usize = 12;
/// Terms of the passages in one query.
const EXPANSION_TERMS: usize = 3;
/// Retrievals after which expanding has had its chances and the question's own terms are cut down.
const EXPANDED_ATTEMPTS: usize = 2;

/// Queries for the documents, in the order to try them, when `attempts` have failed besides the question itself: first
/// the question's keywords, then with terms of the passages, then fewer keywords.
pub(super) fn retrieval(request: &RewriteRequest, attempts: usize) -> Vec<String> {
    let terms = strongest(terms(&request.question), MAX_TERMS);
    let keywords = vec![join(&by_kind(&terms))];
    let expanded = expanded(request, &terms);
    let reduced = reduced(request, &terms);
    let stages = match attempts {
        0 => [keywords, expanded, reduced],
        1..=EXPANDED_ATTEMPTS => [expanded, keywords, reduced],
        _ => [reduced, expanded, keywords],
    };
    stages.concat()
}

/// Queries for the web: keywords in the order of the question, which is what a search engine expects, then fewer. Terms
/// of the documents come last: they come from what did not help.
pub(super) fn web_search(request: &RewriteRequest) -> Vec<String> {
    let terms = strongest(terms(&request.question), MAX_TERMS);
    let keywords = vec![join(&terms), join(&by_kind(&terms))];
    [keywords, reduced(request, &terms), expanded(request, &terms)].concat()
}

/// All terms, or the stronger half of them, with each few of the passages' terms.
fn expanded(request: &RewriteRequest, terms: &[Term]) -> Vec<String> {
    let more = expansion(request);
    let all = join(&by_kind(terms));
    let half = join(&strongest(terms.to_vec(), terms.len().div_ceil(2)));
    let with = |core: &str, chunk: &[String]| format!("{core} {}", chunk.join(" ")).trim().to_owned();
    let chunks = || more.chunks(EXPANSION_TERMS);
    chunks()
        .map(|chunk| with(&all, chunk))
        .chain(chunks().map(|chunk| with(&half, chunk)))
        .collect()
}

/// The question as it was asked, its stronger terms, all but one, pairs, another order, and each strong term alone.
fn reduced(request: &RewriteRequest, terms: &[Term]) -> Vec<String> {
    let mut found = vec![request.question.split_whitespace().collect::<Vec<_>>().join(" ")];
    found.extend(cut(terms));
    let mut ranked = terms.to_vec();
    ranked.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    if terms.len() > 2 {
        found.push(join(&strongest(terms.to_vec(), terms.len().div_ceil(2))));
        for weakest in ranked.iter().rev() {
            found.push(join(
                &terms
                    .iter()
                    .filter(|term| *term != weakest)
                    .cloned()
                    .collect::<Vec<_>>(),
            ));
        }
        let mut pairs: Vec<(usize, usize)> = (0..ranked.len())
            .flat_map(|first| (first + 1..ranked.len()).map(move |second| (first, second)))
            .collect();
        pairs.sort_by_key(|(first, second)| first + second);
        found.extend(
            pairs
                .into_iter()
                .map(|(first, second)| join(&[ranked[first].clone(), ranked[second].clone()])),
        );
    }
    found.push(join(&ranked));
    found.push(join(&ranked.iter().rev().cloned().collect::<Vec<_>>()));
    found.extend(
        ranked
            .iter()
            .filter(|term| term.weight > 1.0)
            .map(|term| term.text.clone()),
    );
    found
}

/// Queries of a question whose long phrases, in writing without spaces, are cut into their parts: all parts, then the
/// longest alone. Such a question may be one single term, and there would be nothing to leave out.
fn cut(terms: &[Term]) -> Vec<String> {
    let is_phrase = |term: &Term| term.kind == Kind::Word && term.text.chars().all(|c| Script::of(c) == Script::Han);
    if !terms
        .iter()
        .any(|term| is_phrase(term) && !chinese::finer(&term.text).is_empty())
    {
        return Vec::new();
    }
    let mut all: Vec<&str> = Vec::new();
    for term in terms {
        let parts = if is_phrase(term) {
            chinese::finer(&term.text)
        } else {
            Vec::new()
        };
        if parts.is_empty() {
            all.push(&term.text);
        }
        all.extend(parts);
    }
    let mut longest = all.clone();
    longest.sort_by_key(|part| Reverse(part.chars().count()));
    let alone = longest.iter().map(|part| (*part).to_owned());
    std::iter::once(all.join(" ")).chain(alone).collect()
}

/// The `most` terms that tell most apart, in the order they had.
fn strongest(terms: Vec<Term>, most: usize) -> Vec<Term> {
    let mut order: Vec<usize> = (0..terms.len()).collect();
    order.sort_by(|a, b| terms[*b].weight.total_cmp(&terms[*a].weight));
    let mut kept: Vec<usize> = order.into_iter().take(most).collect();
    kept.sort_unstable();
    kept.into_iter().map(|index| terms[index].clone()).collect()
}

/// Quoted phrases, names, numbers, and then the rest.
fn by_kind(terms: &[Term]) -> Vec<Term> {
    let mut sorted = terms.to_vec();
    sorted.sort_by_key(|term| term.kind);
    sorted
}

fn join(terms: &[Term]) -> String {
    terms
        .iter()
        .map(|term| term.text.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

//! The order of candidate queries.

use std::cmp::Reverse;

use emend_proto::v1::RewriteRequest;
use emend_text::Script;

use super::chinese;
use super::terms::{Kind, Term, terms};

/// Maximum terms of the question in one query. More terms make a search unspecific.
const MAX_TERMS: usize = 12;
/// Expansion terms of the passages in one query.
const EXPANSION_TERMS: usize = 3;
/// Number of failed attempts after which reduced queries are preferred to expanded ones.
const EXPANDED_ATTEMPTS: usize = 2;

/// Candidate queries for document retrieval, after `attempts` failed queries besides the question: first the question's
/// keywords, then expanded with terms of the passages (`expansion`), then fewer keywords.
pub(super) fn retrieval(request: &RewriteRequest, expansion: &[String], attempts: usize) -> Vec<String> {
    let terms = strongest(terms(&request.question), MAX_TERMS);
    let keywords = vec![join(&by_kind(&terms))];
    let expanded = expanded(expansion, &terms);
    let reduced = reduced(request, &terms);
    let stages = match attempts {
        0 => [keywords, expanded, reduced],
        1..=EXPANDED_ATTEMPTS => [expanded, keywords, reduced],
        _ => [reduced, expanded, keywords],
    };
    stages.concat()
}

/// Candidate queries for web search: the keywords in the order of the question, as search engines expect, then fewer
/// keywords. Expanded queries come last, since their terms are from passages that did not help.
pub(super) fn web_search(request: &RewriteRequest, expansion: &[String]) -> Vec<String> {
    let terms = strongest(terms(&request.question), MAX_TERMS);
    let keywords = vec![join(&terms), join(&by_kind(&terms))];
    [keywords, reduced(request, &terms), expanded(expansion, &terms)].concat()
}

/// All terms, and then the half with the highest weight, each with a few expansion terms at a time.
fn expanded(more: &[String], terms: &[Term]) -> Vec<String> {
    let all = join(&by_kind(terms));
    let half = join(&strongest(terms.to_vec(), terms.len().div_ceil(2)));
    let with = |core: &str, chunk: &[String]| format!("{core} {}", chunk.join(" ")).trim().to_owned();
    let chunks = || more.chunks(EXPANSION_TERMS);
    chunks()
        .map(|chunk| with(&all, chunk))
        .chain(chunks().map(|chunk| with(&half, chunk)))
        .collect()
}

/// The original question, its highest-weighted terms, all terms but one, pairs, other orders, and single terms of high
/// weight.
fn reduced(request: &RewriteRequest, terms: &[Term]) -> Vec<String> {
    let mut found = vec![request.question.split_whitespace().collect::<Vec<_>>().join(" ")];
    found.extend(split_phrases(terms));
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

/// Queries from the parts of long phrases in text without spaces: all parts, then each alone, longest first. Such a
/// question may be a single term, of which nothing else could be left out.
fn split_phrases(terms: &[Term]) -> Vec<String> {
    let is_phrase = |term: &Term| term.kind == Kind::Word && term.text.chars().all(|c| Script::of(c) == Script::Han);
    if !terms
        .iter()
        .any(|term| is_phrase(term) && !chinese::split_phrase(&term.text).is_empty())
    {
        return Vec::new();
    }
    let mut all: Vec<&str> = Vec::new();
    for term in terms {
        let parts = if is_phrase(term) {
            chinese::split_phrase(&term.text)
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

/// The `most` terms of the highest weight, in their original order.
fn strongest(terms: Vec<Term>, most: usize) -> Vec<Term> {
    let mut order: Vec<usize> = (0..terms.len()).collect();
    order.sort_by(|a, b| terms[*b].weight.total_cmp(&terms[*a].weight));
    let mut kept: Vec<usize> = order.into_iter().take(most).collect();
    kept.sort_unstable();
    kept.into_iter().map(|index| terms[index].clone()).collect()
}

/// Sorts the terms by kind: quoted phrases, names, numbers, then words.
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

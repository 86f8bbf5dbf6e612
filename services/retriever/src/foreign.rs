//! Passages in other languages than the query.
//!
//! Embedders place texts of one language together: in a collection of several, what is about something else in the query's
//! own language comes before what answers in another one, and the words of both have nothing in common. So of what a
//! search by both finds, some places are kept for the nearest of the others.

use emend_proto::v1::SearchMode;
use emend_text::Language;

use crate::backend::SearchHit;
use crate::fusion::reciprocal;

/// How many of the nearest passages are looked through for such in other languages.
const DEPTH: usize = 40;
/// One place in so many is kept for another language.
const PLACES: usize = 4;
/// Most characters of a passage that tell its language.
const MAX_CHARACTERS: usize = 400;

/// How many of the nearest passages a search for at most `limit` reads beside what it finds; 0 where no place is kept.
pub(crate) fn depth(mode: SearchMode, limit: usize) -> usize {
    match mode {
        SearchMode::Hybrid | SearchMode::Unspecified if places(limit) > 0 => limit.max(DEPTH),
        _ => 0,
    }
}

/// How many of `limit` passages are kept for other languages.
fn places(limit: usize) -> usize {
    match limit {
        0..PLACES => 0,
        _ => limit.div_ceil(PLACES),
    }
}

/// What was found, at most `limit`, with the best of `nearest` that are in another language than `query` in place of the last
/// ones in the same language, if fewer than [`places`] were found. `nearest` comes by embedding alone, best first.
pub(crate) fn with_foreign(
    query: &str,
    mut found: Vec<SearchHit>,
    nearest: Vec<SearchHit>,
    limit: usize,
) -> Vec<SearchHit> {
    let asked = emend_text::language(query);
    let is_foreign = |hit: &SearchHit| language(&hit.text) != asked;
    let known = found.iter().filter(|hit| is_foreign(hit)).count();
    let is_new = |hit: &SearchHit| {
        !found
            .iter()
            .any(|known| known.document == hit.document && known.index == hit.index)
    };
    let ranked = (1..).zip(nearest).filter(|(_, hit)| is_foreign(hit) && is_new(hit));
    let added = ranked.map(|(rank, hit)| SearchHit {
        score: reciprocal(rank),
        ..hit
    });
    let added: Vec<SearchHit> = added.take(places(limit).saturating_sub(known)).collect();
    while found.len() + added.len() > limit {
        match found.iter().rposition(|hit| !is_foreign(hit)) {
            Some(last) => drop(found.remove(last)),
            None => break,
        }
    }
    found.extend(added);
    found.sort_by(|left, right| right.score.total_cmp(&left.score));
    found.truncate(limit);
    found
}

fn language(text: &str) -> Language {
    let end = text
        .char_indices()
        .nth(MAX_CHARACTERS)
        .map_or(text.len(), |(end, _)| end);
    emend_text::language(text.get(..end).unwrap_or(text))
}

#[cfg(test)]
mod tests;

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

/// About how many bytes of text [`with_foreign`] reads to tell the languages of so many hits.
pub(crate) fn bytes(hits: usize) -> usize {
    hits * MAX_CHARACTERS
}

/// What was found, at most `limit`, with the best of `nearest` that are in another language than `query` in place of the last
/// ones in the same language, if fewer than [`places`] were found. `nearest` comes by embedding alone, best first.
///
/// It takes some milliseconds: it is no work for a thread that serves.
pub(crate) fn with_foreign(
    query: &str,
    found: Vec<SearchHit>,
    nearest: Vec<SearchHit>,
    limit: usize,
) -> Vec<SearchHit> {
    let asked = language(query);
    let is_foreign = |hit: &SearchHit| language(&hit.text) != asked;
    let is_new = |hit: &SearchHit| {
        !found
            .iter()
            .any(|known| known.document == hit.document && known.index == hit.index)
    };
    let ranked = (1..).zip(nearest).filter(|(_, hit)| is_new(hit) && is_foreign(hit));
    let added = ranked.map(|(rank, hit)| SearchHit {
        score: reciprocal(rank),
        ..hit
    });
    let known: Vec<bool> = found.iter().map(is_foreign).collect();
    let missing = places(limit).saturating_sub(known.iter().filter(|is_foreign| **is_foreign).count());
    let added: Vec<SearchHit> = added.take(missing).collect();
    // The last ones in the query's language make room.
    let excess = (found.len() + added.len()).saturating_sub(limit);
    let kept = known.iter().rev().scan(excess, |excess, is_foreign| {
        let is_kept = *is_foreign || *excess == 0;
        *excess -= usize::from(!is_kept);
        Some(is_kept)
    });
    let kept: Vec<bool> = kept.collect();
    let found = found.into_iter().zip(kept.into_iter().rev());
    let mut joined: Vec<SearchHit> = found.filter_map(|(hit, is_kept)| is_kept.then_some(hit)).collect();
    joined.extend(added);
    joined.sort_by(|left, right| right.score.total_cmp(&left.score));
    joined.truncate(limit);
    joined
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

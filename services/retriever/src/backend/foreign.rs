//! Units in other languages than the query.
//!
//! Embedders place texts of one language together: in a collection of several, what is about something else in the query's
//! own language comes before what answers in another one, and the words of both have nothing in common. So of what a
//! search by both finds, some places are kept for the nearest of the others.

use emend_text::Language;

use super::SearchHit;
use crate::fusion::reciprocal;

/// How many of the nearest units are looked through for such in other languages.
const DEPTH: usize = 40;
/// One place in so many is kept for another language.
const PLACES: usize = 4;
/// Most characters of a text that tell its language.
const MAX_CHARACTERS: usize = 400;

/// The language of a text, as far as its beginning tells.
pub(crate) fn language(text: &str) -> Language {
    let end = text
        .char_indices()
        .nth(MAX_CHARACTERS)
        .map_or(text.len(), |(end, _)| end);
    emend_text::language(text.get(..end).unwrap_or(text))
}

/// How many of `limit` units are kept for other languages.
pub(crate) fn places(limit: usize) -> usize {
    match limit {
        0..PLACES => 0,
        _ => limit.div_ceil(PLACES),
    }
}

/// How many of the nearest units a search for at most `limit` looks through; 0 where no place is kept.
pub(crate) fn depth(limit: usize) -> usize {
    match places(limit) {
        0 => 0,
        _ => limit.max(DEPTH),
    }
}

/// What was found, at most `limit`, with the best of `nearest` that are in another language than `asked` in place of the last
/// ones in that language, if fewer than [`places`] were found.
///
/// `nearest` comes by embedding alone, best first, with the ranks from 1; `read` makes a hit with this score of one that is in
/// another language and was not found, and none of others.
///
/// # Errors
/// The first error of `read`.
pub(crate) fn with_foreign<K, E>(
    asked: Language,
    limit: usize,
    found: Vec<SearchHit>,
    nearest: impl IntoIterator<Item = (u32, K)>,
    mut read: impl FnMut(K, f64) -> Result<Option<SearchHit>, E>,
) -> Result<Vec<SearchHit>, E> {
    let is_foreign = |hit: &SearchHit| hit.language != asked;
    let missing = places(limit).saturating_sub(found.iter().filter(|hit| is_foreign(hit)).count());
    let depth = depth(limit);
    let ranked = nearest.into_iter().take_while(|(rank, _)| *rank as usize <= depth);
    let read = ranked.filter_map(|(rank, unit)| read(unit, reciprocal(rank)).transpose());
    let added: Vec<SearchHit> = read.take(missing).collect::<Result<_, E>>()?;
    // The last ones in the query's language make room.
    let mut excess = (found.len() + added.len()).saturating_sub(limit);
    let mut joined = added;
    for hit in found.into_iter().rev() {
        if excess > 0 && !is_foreign(&hit) {
            excess -= 1;
        } else {
            joined.push(hit);
        }
    }
    // What was found comes before what was added with the same score.
    joined.reverse();
    joined.sort_by(|left, right| right.score.total_cmp(&left.score));
    joined.truncate(limit);
    Ok(joined)
}

#[cfg(test)]
mod tests;

//! What both stores agree on when they rank units.

use std::hash::Hasher;

use fnv::FnvHasher;

use super::{SearchHit, Section, Unit};

/// Initial candidates per requested section: about the number of chunks of a section.
const CHUNKS_PER_SECTION: usize = 4;

/// Units of each ranking that are joined: deep enough that a unit that both have is found in both.
pub(crate) const FUSION_DEPTH: usize = 50;

/// Units that are ranked for each one returned, as some are copies of others.
pub(crate) const RANKED_PER_UNIT: usize = 2;

/// How many candidates to ask for first, for so many units.
pub(crate) fn first_candidates(unit: Unit, limit: usize) -> usize {
    match unit {
        Unit::Chunk => limit + 1,
        Unit::Section => limit.saturating_mul(CHUNKS_PER_SECTION) + 1,
    }
}

/// A hash of the letters and digits of a text, in lower case.
pub(crate) fn content_hash(text: &str) -> u64 {
    let mut hasher = FnvHasher::default();
    emend_text::letters(text).for_each(|c| hasher.write_u32(c.into()));
    hasher.finish()
}

/// Ranked units, at most `limit`. `read` makes no hit of a unit whose text it has read before: of copies, such as a licence in
/// every file, only the best is taken.
///
/// # Errors
/// The first error of `read`.
pub(crate) fn distinct<K, E>(
    ranked: Vec<(K, f64)>,
    limit: usize,
    mut read: impl FnMut(K, f64) -> Result<Option<SearchHit>, E>,
) -> Result<Vec<SearchHit>, E> {
    let hits = ranked
        .into_iter()
        .filter_map(|(unit, score)| read(unit, score).transpose());
    hits.take(limit).collect()
}

/// A section, or the code points from a first to one past a last of it: where it begins and ends in the document, and its
/// text.
pub(crate) fn part(section: &Section, chunk: Option<(u32, u32)>) -> (u32, u32, String) {
    match chunk {
        None => {
            let length = u32::try_from(section.text.chars().count()).unwrap_or(u32::MAX);
            (
                section.start,
                section.start.saturating_add(length),
                section.text.clone(),
            )
        }
        Some((start, end)) => {
            let skipped = start.saturating_sub(section.start) as usize;
            let length = end.saturating_sub(start) as usize;
            (start, end, section.text.chars().skip(skipped).take(length).collect())
        }
    }
}

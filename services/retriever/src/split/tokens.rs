//! Token counts of any part of a text, from one pass over the text.
//!
//! A splitter needs the size of thousands of overlapping parts. Tokenizers work word by word, so each word is counted
//! once, and the count of a part is the sum over its words.

use std::collections::HashMap;

use text_splitter::ChunkSizer;

/// Maximum characters of a counted word. Text without spaces (Chinese, Japanese, long names) is counted in pieces of
/// this length, so that a part can end within it.
const MAX_WORD: usize = 12;

/// How many words are counted between two looks at whether to stop.
const CHECK_EVERY: usize = 4096;

/// The token counts of one text. As a [`ChunkSizer`] it sizes slices of that text.
pub(super) struct Tokens<'t> {
    text: &'t str,
    count: &'t (dyn Fn(&str) -> usize + Sync),
    /// Start, end and preceding token count of each word; the last entry is the end of the text and the total. There are
    /// as many words as half the bytes of a text, so their numbers are small: a text has at most 32 MiB.
    words: Vec<(u32, u32, u32)>,
    /// Parts with more bytes are too large regardless of their tokens.
    max_bytes: usize,
}

impl<'t> Tokens<'t> {
    /// Counts every word of `text`; `None` once `stop` says so.
    pub(super) fn new(
        text: &'t str,
        count: &'t (dyn Fn(&str) -> usize + Sync),
        max_bytes: usize,
        stop: &dyn Fn() -> bool,
    ) -> Option<Self> {
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut words = Vec::new();
        let mut total = 0;
        for (number, (start, word)) in split_words(text).enumerate() {
            if number.is_multiple_of(CHECK_EVERY) && stop() {
                return None;
            }
            words.push((small(start), small(start + word.len()), small(total)));
            total += *known.entry(word).or_insert_with(|| count(word));
        }
        words.push((small(text.len()), small(text.len()), small(total)));
        Some(Self {
            text,
            count,
            words,
            max_bytes,
        })
    }

    /// The number of tokens of the words that overlap a byte range of the text.
    pub(super) fn between(&self, start: usize, end: usize) -> usize {
        if start >= end {
            return 0;
        }
        let before = |index: usize| self.words.get(index).map_or(0, |(_, _, tokens)| *tokens as usize);
        // The first word that ends after `start`, and the first that begins at or after `end`.
        let first = self.words.partition_point(|(_, ends, _)| *ends as usize <= start);
        let last = self.words.partition_point(|(begins, _, _)| (*begins as usize) < end);
        before(last.min(self.words.len() - 1)).saturating_sub(before(first))
    }
}

impl ChunkSizer for &Tokens<'_> {
    fn size(&self, part: &str) -> usize {
        if part.len() > self.max_bytes {
            return usize::MAX;
        }
        // The splitter passes slices of the text, so the address of a slice gives its offset.
        let offset = (part.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize);
        match offset {
            Some(start) if start + part.len() <= self.text.len() => self.between(start, start + part.len()),
            _ => (self.count)(part),
        }
    }
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The words of `text` with their byte offsets, split at white space and after [`MAX_WORD`] characters.
fn split_words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .char_indices()
            .enumerate()
            .find(|(number, (_, c))| c.is_whitespace() || *number == MAX_WORD)
            .map_or(rest.len(), |(_, (at, _))| at);
        let start = text.len() - rest.len();
        let (word, after) = rest.split_at(end);
        rest = after;
        Some((start, word))
    })
}

#[cfg(test)]
mod tests;

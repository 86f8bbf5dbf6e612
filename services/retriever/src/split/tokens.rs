//! How many tokens any part of a text has, counted once for the whole text.
//!
//! A splitter asks for the size of thousands of overlapping parts. Tokenizers work word by word, so each word is counted
//! once, and a part has as many tokens as the words in it.

use std::collections::HashMap;

use text_splitter::ChunkSizer;

/// Runs without spaces (Chinese, Japanese, long names) are counted in pieces of this many characters, so that a part can
/// end within one.
const MAX_RUN: usize = 12;

/// The token counts of one text. As a sizer it is for parts of that text.
pub(super) struct Tokens<'t> {
    text: &'t str,
    count: &'t (dyn Fn(&str) -> usize + Sync),
    /// Where each piece begins and ends, and how many tokens are before it; the last one is the text's end and total.
    pieces: Vec<(usize, usize, usize)>,
    /// A part of more bytes is too large whatever its tokens.
    most_bytes: usize,
}

impl<'t> Tokens<'t> {
    /// Counts every word of `text`.
    pub(super) fn new(text: &'t str, count: &'t (dyn Fn(&str) -> usize + Sync), most_bytes: usize) -> Self {
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut pieces = Vec::new();
        let mut total = 0;
        for (start, piece) in words(text) {
            pieces.push((start, start + piece.len(), total));
            total += *known.entry(piece).or_insert_with(|| count(piece));
        }
        pieces.push((text.len(), text.len(), total));
        Self {
            text,
            count,
            pieces,
            most_bytes,
        }
    }

    /// Tokens of the pieces that overlap a byte range of the text.
    pub(super) fn between(&self, start: usize, end: usize) -> usize {
        if start >= end {
            return 0;
        }
        let before = |index: usize| self.pieces.get(index).map_or(0, |(_, _, tokens)| *tokens);
        // The first piece that ends after `start`, and the first that begins at or after `end`.
        let first = self.pieces.partition_point(|(_, ends, _)| *ends <= start);
        let last = self.pieces.partition_point(|(begins, _, _)| *begins < end);
        before(last.min(self.pieces.len() - 1)).saturating_sub(before(first))
    }
}

impl ChunkSizer for &Tokens<'_> {
    fn size(&self, part: &str) -> usize {
        if part.len() > self.most_bytes {
            return usize::MAX;
        }
        // A splitter hands out slices of the text it was given: where one lies in memory is where it lies in the text.
        let offset = (part.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize);
        match offset {
            Some(start) if start + part.len() <= self.text.len() => self.between(start, start + part.len()),
            _ => (self.count)(part),
        }
    }
}

/// Words by white space, long ones in pieces, with where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .char_indices()
            .enumerate()
            .find(|(number, (_, c))| c.is_whitespace() || *number == MAX_RUN)
            .map_or(rest.len(), |(_, (at, _))| at);
        let start = text.len() - rest.len();
        let (word, after) = rest.split_at(end);
        rest = after;
        Some((start, word))
    })
}

#[cfg(test)]
mod tests;

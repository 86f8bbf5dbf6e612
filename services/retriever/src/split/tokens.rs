//! How many tokens any part of a text has, counted once for the whole text.
//!
//! A splitter asks for the size of thousands of overlapping parts. Tokenizers work word by word, so each word is counted
//! once, and a part has as many tokens as the words in it.

use std::collections::HashMap;

use text_splitter::ChunkSizer;

/// Runs without spaces (Chinese, Japanese, long names) are counted in pieces of this many characters, so that a part can
/// end within one.
const LONGEST_RUN: usize = 12;

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
            .find(|(number, (_, c))| c.is_whitespace() || *number == LONGEST_RUN)
            .map_or(rest.len(), |(_, (at, _))| at);
        let start = text.len() - rest.len();
        let (word, after) = rest.split_at(end);
        rest = after;
        Some((start, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_letters(text: &str) -> usize {
        text.chars().filter(|c| !c.is_whitespace()).count()
    }

    #[test]
    fn a_part_has_the_tokens_of_its_words() {
        let text = "  one two\n\nthree 4 ";
        let tokens = Tokens::new(text, &by_letters, 1000);
        assert_eq!((&tokens).size(text), 12);
        assert_eq!((&tokens).size(&text[2..9]), 6);
        assert_eq!((&tokens).size(&text[9..11]), 0);
        assert_eq!((&tokens).size(&text[6..16]), 8);
        assert_eq!((&tokens).size(""), 0);
        // A word cut in two counts on both sides: never too few.
        assert_eq!((&tokens).size(&text[3..9]), 6);
    }

    #[test]
    fn a_text_from_elsewhere_is_counted() {
        let tokens = Tokens::new("one", &by_letters, 1000);
        let elsewhere = String::from("four");
        assert_eq!((&tokens).size(&elsewhere), 4);
    }

    #[test]
    fn runs_without_spaces_are_counted_in_pieces() {
        let text = "字".repeat(40);
        let tokens = Tokens::new(&text, &by_letters, 1000);
        assert_eq!((&tokens).size(&text), 40);
        assert_eq!((&tokens).size(&text[..3 * LONGEST_RUN]), LONGEST_RUN);
        assert!((&tokens).size(&text[..3]) <= LONGEST_RUN);
    }

    #[test]
    fn too_many_bytes_never_fit() {
        let text = format!("a{}b", " ".repeat(100));
        let tokens = Tokens::new(&text, &by_letters, 50);
        assert_eq!((&tokens).size(&text), usize::MAX);
    }

    #[test]
    fn each_word_is_counted_once() {
        let calls = std::sync::atomic::AtomicUsize::new(0);
        let count = |text: &str| {
            calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            by_letters(text)
        };
        let text = "again and again ".repeat(1000);
        let tokens = Tokens::new(&text, &count, usize::MAX);
        assert_eq!(tokens.between(0, text.len()), 13_000);
        assert_eq!(calls.into_inner(), 2);
    }
}

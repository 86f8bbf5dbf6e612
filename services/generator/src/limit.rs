//! Where an answer of so many sentences ends, seen while it is still being written.

use std::ops::Range;

use emend_text::{Script, is_sentence_end};

/// What follows an end tells whether it was one, as soon as there is this much of it: letters and digits, a Chinese,
/// Japanese or Korean one counting for two, its first word whole.
const TELLING: usize = 4;
/// A first word longer than this is told by its beginning.
const LONG: usize = 24;

/// Lets through so many sentences of a text that comes in pieces.
///
/// A full stop does not end a sentence by itself: `3.5`, `Dr. Marsh`. So what comes after the last sentence allowed is
/// held back until it shows whether it is another one.
#[derive(Debug)]
pub(crate) struct SentenceLimit {
    most: Option<usize>,
    text: String,
    /// Bytes of the text let through.
    through: usize,
    /// Places so far at which a sentence may have ended.
    ends: usize,
    /// Whether the last of them is not told yet.
    waits: bool,
    full: bool,
}

impl SentenceLimit {
    /// At most `most` sentences; none lets everything through.
    pub(crate) fn new(most: Option<usize>) -> Self {
        Self {
            most,
            text: String::new(),
            through: 0,
            ends: 0,
            waits: false,
            full: false,
        }
    }

    /// Takes the next piece and returns the text that is sure by now.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let Some(most) = self.most else { return piece.to_owned() };
        if self.full {
            return String::new();
        }
        self.text.push_str(piece);
        let from = self.through;
        loop {
            if self.waits {
                if !is_telling(self.rest()) {
                    break;
                }
                let sentences = emend_text::sentences(&self.text);
                let begun = sentences.iter().filter(|range| range.start < self.through).count();
                if sentences.len() > begun && begun >= most {
                    self.cut(&sentences, begun);
                    break;
                }
                self.waits = false;
            }
            match end(self.rest()) {
                Some(length) => {
                    self.through += length;
                    self.ends += 1;
                    // There are no more sentences than places where one may end.
                    self.waits = self.ends >= most;
                }
                None => {
                    self.through = self.text.len();
                    break;
                }
            }
        }
        self.text.get(from..self.through).unwrap_or_default().to_owned()
    }

    /// Whether all sentences are there and another has begun.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Ends the text: what was held back and belongs to the answer.
    pub(crate) fn finish(&mut self) -> String {
        let Some(most) = self.most else { return String::new() };
        let from = self.through;
        if !self.full {
            let sentences = emend_text::sentences(&self.text);
            if sentences.len() > most {
                self.cut(&sentences, most);
            } else {
                self.through = self.text.len();
            }
        }
        self.text.get(from..self.through).unwrap_or_default().to_owned()
    }

    /// Nothing more than the first `count` sentences, and what is through already.
    fn cut(&mut self, sentences: &[Range<usize>], count: usize) {
        let end = count
            .checked_sub(1)
            .and_then(|last| sentences.get(last))
            .map_or(0, |range| range.end);
        self.through = end.max(self.through);
        self.full = true;
    }

    fn rest(&self) -> &str {
        self.text.get(self.through..).unwrap_or_default()
    }
}

/// The length of the text up to and with the first place at which a sentence may end.
fn end(text: &str) -> Option<usize> {
    let ends = |c: char| c == '\n' || is_sentence_end(c);
    let at = text.find(ends)?;
    let length = text[at..].find(|c| !ends(c)).unwrap_or(text.len() - at);
    Some(at + length)
}

/// Whether there is enough text to tell what it follows.
fn is_telling(text: &str) -> bool {
    let weight = |text: &str| -> usize {
        let letters = text.chars().filter(|c| c.is_alphanumeric());
        letters.map(|c| if Script::is_cjk(c) { 2 } else { 1 }).sum()
    };
    let word = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let is_whole = word.contains(|c: char| !c.is_alphanumeric());
    let weight = weight(text);
    weight >= LONG || (weight >= TELLING && is_whole)
}

#[cfg(test)]
mod tests;

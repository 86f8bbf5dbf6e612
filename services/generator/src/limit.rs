//! Limits the number of sentences of an answer while it is streamed.

use std::ops::Range;

use emend_text::{Script, is_sentence_end};

/// Minimum text after a sentence terminator to decide whether the sentence ends there: letters and digits, with a
/// Chinese, Japanese or Korean character counting as two, and the first word complete.
const TELLING: usize = 4;
/// A first word longer than this need not be complete.
const LONG: usize = 24;

/// Passes a limited number of sentences of a streamed text.
///
/// A full stop does not always end a sentence: `3.5`, `Dr. Marsh`. So the text after the last allowed sentence is held
/// back until it is clear whether it is another sentence.
#[derive(Debug)]
pub(crate) struct SentenceLimit {
    most: Option<usize>,
    text: String,
    /// Bytes of the text emitted.
    through: usize,
    /// Number of possible sentence ends so far.
    ends: usize,
    /// Whether the last of them is still undecided.
    waits: bool,
    full: bool,
}

impl SentenceLimit {
    /// Passes at most `most` sentences; `None` means no limit.
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

    /// Processes the next chunk and returns the text that can be emitted.
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
                    // There are at most as many sentences as possible ends.
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

    /// Whether the limit is reached and another sentence has begun.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Ends the text. Returns the pending text that is part of the answer.
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

    /// Truncates to the first `count` sentences, or to the text emitted already if that is longer.
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

/// The length of the text up to and including the first possible sentence end.
fn end(text: &str) -> Option<usize> {
    let ends = |c: char| c == '\n' || is_sentence_end(c);
    let at = text.find(ends)?;
    let length = text[at..].find(|c| !ends(c)).unwrap_or(text.len() - at);
    Some(at + length)
}

/// Whether there is enough text to decide whether a sentence ended before it.
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

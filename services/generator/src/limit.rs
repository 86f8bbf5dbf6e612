//! Limits the number of sentences of an answer while it is streamed.

use std::ops::Range;

use emend_text::{Script, code_blocks, is_sentence_end};

/// Minimum text after a sentence terminator to decide whether the sentence ends there: letters and digits, with a
/// Chinese, Japanese or Korean character counting as two, and the first word complete.
const TELLING: usize = 4;
/// A first word longer than this need not be complete.
const LONG: usize = 24;
/// Bytes of a text that are divided into sentences at each undecided end. A longer one is divided again when it has grown
/// by one part in [`GROWTH`]: dividing it each time would take the square of the time.
const AT_ONCE: usize = 512;
const GROWTH: usize = 8;

/// Passes a limited number of sentences of a streamed text.
///
/// A full stop does not always end a sentence: `3.5`, `Dr. Marsh`. So the text after the last allowed sentence is held
/// back until it is clear whether it is another sentence.
#[derive(Debug)]
pub(crate) struct SentenceLimit {
    most: Option<usize>,
    /// The text from the last settled block on.
    text: String,
    /// Number of sentences before it.
    settled: usize,
    /// Bytes of `text` emitted.
    through: usize,
    /// Number of possible sentence ends so far.
    ends: usize,
    /// Whether the last of them is still undecided.
    waits: bool,
    after: After,
    /// Bytes of `text` from which it is divided into sentences again.
    due: usize,
    full: bool,
    /// Bytes that were looked at, which tests hold against the length of the text.
    looked_at: usize,
}

impl SentenceLimit {
    /// Passes at most `most` sentences; `None` means no limit.
    pub(crate) fn new(most: Option<usize>) -> Self {
        Self {
            most,
            text: String::new(),
            settled: 0,
            through: 0,
            ends: 0,
            waits: false,
            after: After::default(),
            due: 0,
            full: false,
            looked_at: 0,
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
        let mut sentences: Option<Vec<Range<usize>>> = None;
        loop {
            if self.waits {
                let rest = self.text.get(self.through..).unwrap_or_default();
                let read = self.after.read;
                let is_telling = self.after.is_telling(rest);
                self.looked_at += self.after.read - read;
                if !is_telling {
                    break;
                }
                if sentences.is_none() {
                    if self.text.len() < self.due {
                        break;
                    }
                    sentences = Some(self.divide());
                }
                let sentences = sentences.as_deref().unwrap_or_default();
                let begun = sentences.partition_point(|range| range.start < self.through);
                if sentences.len() > begun && self.settled + begun >= most {
                    self.cut(sentences, self.settled + begun);
                    break;
                }
                self.waits = false;
            }
            let rest = self.text.get(self.through..).unwrap_or_default();
            match end(rest) {
                Some(length) => {
                    self.looked_at += length;
                    self.through += length;
                    self.ends += 1;
                    // There are at most as many sentences as possible ends.
                    self.waits = self.ends >= most;
                    self.after = After::default();
                }
                None => {
                    self.looked_at += rest.len();
                    self.through = self.text.len();
                    break;
                }
            }
        }
        let emitted = self.text.get(from..self.through).unwrap_or_default().to_owned();
        if let Some(sentences) = sentences
            && !self.full
        {
            self.settle(&sentences);
        }
        emitted
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
            let sentences = self.divide();
            if self.settled + sentences.len() > most {
                self.cut(&sentences, most);
            } else {
                self.through = self.text.len();
            }
        }
        self.text.get(from..self.through).unwrap_or_default().to_owned()
    }

    /// Truncates to the first `count` sentences, or to the text emitted already if that is longer.
    fn cut(&mut self, sentences: &[Range<usize>], count: usize) {
        let last = count.checked_sub(self.settled + 1);
        let end = last.and_then(|last| sentences.get(last)).map_or(0, |range| range.end);
        self.through = end.max(self.through);
        self.full = true;
    }

    fn divide(&mut self) -> Vec<Range<usize>> {
        self.looked_at += self.text.len();
        emend_text::sentences(&self.text)
    }

    /// Forgets the text before the last block that has begun to be emitted, counting its sentences: what follows a blank
    /// line outside of code, and begins with more than marks, does not change the sentences before it.
    fn settle(&mut self, sentences: &[Range<usize>]) {
        let begun = sentences.partition_point(|range| range.start < self.through);
        let code = code_blocks(&self.text);
        let starts_block = |index: &usize| {
            let (before, range) = (&sentences[index - 1], &sentences[*index]);
            let between = self.text.get(before.end..range.start).unwrap_or_default();
            let text = self.text.get(range.clone()).unwrap_or_default();
            between.bytes().filter(|byte| *byte == b'\n').count() > 1
                && text.contains(char::is_alphanumeric)
                && !code
                    .iter()
                    .any(|block| block.range.start < range.start && range.start < block.range.end)
        };
        if let Some(index) = (1..begun).rev().find(starts_block) {
            let start = sentences[index].start;
            self.settled += index;
            self.through -= start;
            self.text.drain(..start);
        }
        let length = self.text.len();
        self.due = if length < AT_ONCE { 0 } else { length + length / GROWTH };
    }
}

/// The text after a possible sentence end, as far as it was read.
#[derive(Debug, Default)]
struct After {
    /// Bytes read.
    read: usize,
    /// Letters and digits in them, with a Chinese, Japanese or Korean character counting as two.
    weight: usize,
    /// Whether the first word is complete.
    is_whole: bool,
}

impl After {
    /// Whether there is enough text to decide whether a sentence ended before it. `text` is what was read and more.
    fn is_telling(&mut self, text: &str) -> bool {
        for c in text.get(self.read..).unwrap_or_default().chars() {
            if self.decides() {
                break;
            }
            self.read += c.len_utf8();
            if c.is_alphanumeric() {
                self.weight += if Script::is_cjk(c) { 2 } else { 1 };
            } else if self.weight > 0 {
                self.is_whole = true;
            }
        }
        self.decides()
    }

    fn decides(&self) -> bool {
        self.weight >= LONG || (self.weight >= TELLING && self.is_whole)
    }
}

/// The length of the text up to and including the first possible sentence end.
fn end(text: &str) -> Option<usize> {
    let ends = |c: char| c == '\n' || is_sentence_end(c);
    let at = text.find(ends)?;
    let length = text[at..].find(|c| !ends(c)).unwrap_or(text.len() - at);
    Some(at + length)
}

#[cfg(test)]
mod tests;

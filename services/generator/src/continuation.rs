//! Continues an answer: removes what a model repeats of it, and the marker that it is complete.

use emend_text::{is_closing_mark, is_sentence_end};

/// The marker that a model is asked to reply with if the answer is complete. It is language-independent, and chat
/// models rarely manage an empty reply.
pub(crate) const COMPLETE: &str = "[complete]";
/// Most sentences of the answer so far from which a repetition may start: the first, and the last ones.
const MAX_STARTS: usize = 64;
/// Most bytes of white space, and of [`COMPLETE`] with what follows it, that are held back while more may come.
const MAX_PENDING: usize = 128;

/// Removes the repeated answer from the beginning of a streamed continuation, and [`COMPLETE`] from its end.
///
/// Models tend to repeat the answer from the beginning or from its last sentence. Only such a repetition at the start
/// is removed; a sentence that is repeated later is left to the grader.
#[derive(Debug)]
pub(crate) struct Continuation {
    /// The letters and digits of the answer so far.
    said: String,
    /// The offsets in `said` at which its sentences start.
    starts: Vec<usize>,
    begins: bool,
    held: String,
    /// The letters and digits of the held text while it begins.
    new: String,
    /// The offsets of `starts` from which the answer so far goes on as `new` does.
    open: Vec<usize>,
    /// The length in letters and digits of the longest part of the answer so far that `new` repeats to its end.
    longest: usize,
    /// Most bytes that are held while the text begins.
    most: usize,
    /// Bytes removed from the beginning, and how many of them are trailing white space.
    dropped: usize,
    space: usize,
    /// Bytes that were looked at, which tests hold against the length of the text.
    looked_at: usize,
}

impl Continuation {
    /// Creates a filter for the continuation of `answer_so_far`. If it is empty, everything passes.
    pub(crate) fn new(answer_so_far: &str) -> Self {
        let mut said = String::new();
        let mut starts = Vec::new();
        for range in emend_text::sentences(answer_so_far) {
            starts.push(said.len());
            said.extend(emend_text::letters(answer_so_far.get(range).unwrap_or_default()));
        }
        if starts.len() > MAX_STARTS {
            starts.drain(1..=starts.len() - MAX_STARTS);
        }
        Self {
            begins: !said.is_empty(),
            said,
            open: starts.clone(),
            starts,
            held: String::new(),
            new: String::new(),
            longest: 0,
            most: 2 * answer_so_far.len() + MAX_PENDING,
            dropped: 0,
            space: 0,
            looked_at: 0,
        }
    }

    /// Processes the next chunk and returns the new text.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        if self.said.is_empty() {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        if self.begins {
            self.compare(piece);
            match self.repeated() {
                Repeated::Perhaps => return String::new(),
                Repeated::Bytes(length) => {
                    let dropped: String = self.held.drain(..length).collect();
                    self.dropped = length;
                    self.space = length - dropped.trim_end().len();
                }
            }
            self.begins = false;
        }
        self.looked_at += self.held.len();
        let rest = self.held.split_off(complete(&self.held));
        if rest.len() > MAX_PENDING {
            self.held.push_str(&rest);
            return std::mem::take(&mut self.held);
        }
        std::mem::replace(&mut self.held, rest)
    }

    /// Ends the text. Returns the pending text that is new.
    pub(crate) fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        let said = emend_text::letters(&held).collect::<String>();
        let again = self.begins
            && (self.rests().any(|rest| rest == said)
                || (held.trim_end().ends_with(is_end) && self.rests().any(|rest| rest.starts_with(&said))));
        if again || is_complete(&held) {
            String::new()
        } else {
            held
        }
    }

    /// Bytes removed from the beginning.
    pub(crate) fn dropped(&self) -> usize {
        self.dropped
    }

    /// The byte offset at which the new text begins, including the white space before it: a token includes the space
    /// before its word.
    pub(crate) fn start(&self) -> usize {
        self.dropped - self.space
    }

    /// The suffixes of the answer so far that start at a sentence.
    fn rests(&self) -> impl Iterator<Item = &str> {
        self.starts.iter().filter_map(|start| self.said.get(*start..))
    }

    /// Compares the letters of the next chunk with how the answer so far goes on.
    fn compare(&mut self, piece: &str) {
        let before = self.new.len();
        self.new.extend(emend_text::letters(piece));
        self.looked_at += piece.len() + self.open.len() * (self.new.len() - before);
        let (said, new, longest) = (&self.said, &self.new, &mut self.longest);
        self.open.retain(|start| {
            let rest = said.get(*start..).unwrap_or_default();
            let end = rest.len().min(new.len());
            if rest.as_bytes().get(before..end) != new.as_bytes().get(before..end) {
                return false;
            }
            let goes_on = rest.len() >= new.len();
            if !goes_on {
                *longest = rest.len().max(*longest);
            }
            goes_on
        });
    }

    /// How much of the held text repeats the answer so far, from the start of one of its sentences to its end.
    fn repeated(&mut self) -> Repeated {
        if !self.open.is_empty() && self.held.len() <= self.most {
            return Repeated::Perhaps;
        }
        self.looked_at += self.held.len();
        let longest = self.longest;
        let mut read = 0;
        let mut end = 0;
        for (at, c) in self.held.char_indices() {
            if read >= longest {
                break;
            }
            if c.is_alphanumeric() {
                read += c.to_lowercase().map(char::len_utf8).sum::<usize>();
            }
            end = at + c.len_utf8();
        }
        // "It is red" does not repeat a part of "It is red and old".
        let rest = self.held.get(end..).unwrap_or_default();
        let after = rest.trim_start_matches(is_end);
        if longest == 0 || after.len() == rest.len() {
            return Repeated::Bytes(0);
        }
        Repeated::Bytes(self.held.len() - after.trim_start().len())
    }
}

enum Repeated {
    /// More text is needed to decide.
    Perhaps,
    /// The number of repeated bytes.
    Bytes(usize),
}

/// The end of the text that cannot be the beginning of [`COMPLETE`] or white space before it.
fn complete(text: &str) -> usize {
    let mark = text.rfind('[').filter(|at| {
        let rest = text.get(*at..).unwrap_or_default();
        is_complete(rest) || COMPLETE.starts_with(&rest.to_lowercase())
    });
    let before = text.get(..mark.unwrap_or(text.len())).unwrap_or(text);
    before.trim_end().len()
}

fn is_complete(text: &str) -> bool {
    text.trim().trim_end_matches(is_end).to_lowercase() == COMPLETE
}

/// Whether `c` ends a sentence or is a closing mark after its end; the bracket that closes [`COMPLETE`] is neither.
fn is_end(c: char) -> bool {
    c == '\n' || is_sentence_end(c) || (is_closing_mark(c) && c != ']')
}

#[cfg(test)]
mod tests;

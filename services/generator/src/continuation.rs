//! Continuing an answer: what a model writes again of it goes, and so does its word that nothing is left to add.

use emend_text::{is_closing_mark, is_sentence_end};

/// What a model is asked to reply when the answer is complete. No language is needed to compare it, and chat models
/// rarely manage to say nothing.
pub(crate) const COMPLETE: &str = "[complete]";

/// Takes what an answer says already out of the beginning of its continuation, which comes in pieces, and [`COMPLETE`]
/// out of its end.
///
/// Models like to begin again, or with the last sentence. Only such a beginning is held back; a sentence that comes
/// again later is for the grader.
#[derive(Debug)]
pub(crate) struct Continuation {
    /// Letters and digits of the answer so far.
    said: String,
    /// Where in them its sentences start.
    starts: Vec<usize>,
    begins: bool,
    held: String,
    /// Bytes that were taken out of the beginning, and how many of them are white space at their end.
    dropped: usize,
    space: usize,
}

impl Continuation {
    /// Of this answer; with an empty one everything is let through.
    pub(crate) fn new(answer_so_far: &str) -> Self {
        let mut said = String::new();
        let mut starts = Vec::new();
        for range in emend_text::sentences(answer_so_far) {
            starts.push(said.len());
            said.push_str(&letters(answer_so_far.get(range).unwrap_or_default()));
        }
        Self {
            begins: !said.is_empty(),
            said,
            starts,
            held: String::new(),
            dropped: 0,
            space: 0,
        }
    }

    /// Takes the next piece and returns what is new.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        if self.said.is_empty() {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        if self.begins {
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
        let rest = self.held.split_off(complete(&self.held));
        std::mem::replace(&mut self.held, rest)
    }

    /// Ends the text: what was held back and is new.
    pub(crate) fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        let said = letters(&held);
        let again = self.begins
            && (self.rests().any(|rest| rest == said)
                || (held.trim_end().ends_with(is_end) && self.rests().any(|rest| rest.starts_with(&said))));
        if again || is_complete(&held) {
            String::new()
        } else {
            held
        }
    }

    /// Bytes that were taken out of the beginning.
    pub(crate) fn dropped(&self) -> usize {
        self.dropped
    }

    /// Where what is new begins, with the white space before it: a token brings the space before its word.
    pub(crate) fn start(&self) -> usize {
        self.dropped - self.space
    }

    /// The answer so far from each of its sentences on.
    fn rests(&self) -> impl Iterator<Item = &str> {
        self.starts.iter().filter_map(|start| self.said.get(*start..))
    }

    /// How much of what is held says the answer so far again, from one of its sentences to its end.
    fn repeated(&self) -> Repeated {
        let new = letters(&self.held);
        if self.rests().any(|rest| rest.starts_with(&new)) {
            return Repeated::Perhaps;
        }
        let repeats = |rest: &&str| !rest.is_empty() && new.starts_with(*rest);
        let longest = self.rests().filter(repeats).map(str::len).max().unwrap_or(0);
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
        // "It is red" is no repetition within "It is red and old".
        let rest = self.held.get(end..).unwrap_or_default();
        let after = rest.trim_start_matches(is_end);
        if longest == 0 || after.len() == rest.len() {
            return Repeated::Bytes(0);
        }
        Repeated::Bytes(self.held.len() - after.trim_start().len())
    }
}

enum Repeated {
    /// More text is needed to tell.
    Perhaps,
    /// So many bytes.
    Bytes(usize),
}

/// Where the text stops that is surely neither the beginning of [`COMPLETE`] nor the white space before it.
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

/// Whether `c` ends a sentence, or closes one that has ended.
fn is_end(c: char) -> bool {
    c == '\n' || is_sentence_end(c) || is_closing_mark(c)
}

fn letters(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests;

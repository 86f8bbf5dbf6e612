//! Extracts citation marks from a model's text and records their positions.

/// Removes marks such as `[1]`, `[2, 3]`, `[1][4]`, `[1-3]` and `【1】` from a streamed text.
///
/// White space before a mark is removed, and so is white space at both ends of the text. A number without a passage is
/// not a citation; its mark is removed if it can only have been meant as one.
#[derive(Debug)]
pub(crate) struct Citations {
    passages: usize,
    /// Pending white space, followed by the pending part of a mark: text that may still be removed.
    space: String,
    mark: String,
    /// Bytes of text emitted so far.
    written: usize,
    found: Vec<Mark>,
}

/// A citation mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Byte offset in the cleaned text.
    pub(crate) at: usize,
    /// The passage's number, from 1.
    pub(crate) number: usize,
}

/// Maximum length of a mark in bytes: `[1, 2, 3, 4, 5, 6, 7, 8]` has 24.
const MAX_MARK: usize = 32;
/// Maximum passage number. A larger number in brackets is text, such as `[1984]`.
const MAX_NUMBER: usize = 100;

impl Citations {
    /// Creates a filter for an answer from this many passages.
    pub(crate) fn new(passages: usize) -> Self {
        Self {
            passages,
            space: String::new(),
            mark: String::new(),
            written: 0,
            found: Vec::new(),
        }
    }

    /// Processes the next chunk and returns the text that can be emitted.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let mut text = String::new();
        for c in piece.chars() {
            self.next(c, &mut text);
        }
        text
    }

    /// Bytes of text emitted so far.
    pub(crate) fn written(&self) -> usize {
        self.written
    }

    /// Ends the text. Returns the pending text and the marks in order.
    pub(crate) fn finish(mut self) -> (String, Vec<Mark>) {
        let mut text = String::new();
        self.give_up(&mut text);
        (text, self.found)
    }

    fn next(&mut self, c: char, text: &mut String) {
        if self.mark.is_empty() {
            match c {
                '[' | '【' | '［' => self.mark.push(c),
                c if c.is_whitespace() => self.space.push(c),
                c => self.write(c, text),
            }
            return;
        }
        match c {
            ']' | '】' | '］' => {
                self.mark.push(c);
                self.close(text);
            }
            c if self.mark.len() < MAX_MARK && is_inside(c) => self.mark.push(c),
            c => {
                self.give_up(text);
                self.next(c, text);
            }
        }
    }

    /// Handles a complete mark: a citation, an invalid number, or brackets of the text itself.
    fn close(&mut self, text: &mut String) {
        let inside = self.mark.trim_matches(['[', '【', '［', ']', '】', '］']);
        let Some(numbers) = numbers(inside) else {
            self.give_up(text);
            return;
        };
        if numbers.iter().any(|number| *number > MAX_NUMBER.max(self.passages)) {
            self.give_up(text);
            return;
        }
        let known = numbers
            .into_iter()
            .filter(|number| (1..=self.passages).contains(number));
        self.found.extend(known.map(|number| Mark {
            at: self.written,
            number,
        }));
        self.mark.clear();
        // Drop the white space before the mark; the text after it has its own.
        self.space.clear();
    }

    /// Emits the pending mark as text.
    fn give_up(&mut self, text: &mut String) {
        for c in std::mem::take(&mut self.mark).chars() {
            self.write(c, text);
        }
    }

    fn write(&mut self, c: char, text: &mut String) {
        let space = std::mem::take(&mut self.space);
        if self.written > 0 {
            text.push_str(&space);
            self.written += space.len();
        }
        text.push(c);
        self.written += c.len_utf8();
    }
}

fn is_inside(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, ' ' | ',' | ';' | '-' | '–' | '、' | '，' | '^')
}

/// The numbers of `1`, `1, 2` or `1-3`, each at least 1.
fn numbers(inside: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in inside.split([',', ';', '、', '，']) {
        let part = part.trim().trim_start_matches('^');
        match part.split_once(['-', '–']) {
            Some((first, last)) => {
                let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
                if first == 0 || last < first || last > MAX_NUMBER {
                    return None;
                }
                numbers.extend(first..=last);
            }
            None => numbers.push(part.parse().ok().filter(|number| *number > 0)?),
        }
    }
    Some(numbers)
}

#[cfg(test)]
mod tests;

//! Citation marks in what a model writes: taken out of the text, kept with the place they stood at.

/// Takes marks such as `[1]`, `[2, 3]`, `[1][4]`, `[1-3]` and `【1】` out of a text that comes in pieces.
///
/// White space before a mark goes with it, and so does white space at both ends of the text. A number beyond the
/// passages is no citation; its mark is taken out when it can only have been meant as one.
#[derive(Debug)]
pub(crate) struct Citations {
    passages: usize,
    /// White space, and after it a mark as far as it has come: what may still turn out not to be text.
    space: String,
    mark: String,
    /// Bytes of text let through so far.
    written: usize,
    found: Vec<Mark>,
}

/// A citation mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Bytes of the cleaned text before it.
    pub(crate) at: usize,
    /// The passage's number, from 1.
    pub(crate) number: usize,
}

/// Longer than this is no mark: `[1, 2, 3, 4, 5, 6, 7, 8]` is 24.
const MAX_MARK: usize = 32;
/// A number above this was never meant as a passage's: `[1984]`.
const MAX_NUMBER: usize = 100;

impl Citations {
    /// For an answer from this many passages.
    pub(crate) fn new(passages: usize) -> Self {
        Self {
            passages,
            space: String::new(),
            mark: String::new(),
            written: 0,
            found: Vec::new(),
        }
    }

    /// Takes the next piece and returns the text that is sure by now.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let mut text = String::new();
        for c in piece.chars() {
            self.next(c, &mut text);
        }
        text
    }

    /// Bytes of text let through so far.
    pub(crate) fn written(&self) -> usize {
        self.written
    }

    /// Ends the text: what was held back, and the marks in order.
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

    /// A mark is whole: a citation, an invented number, or brackets of the text's own.
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
        // The white space before the mark goes; what follows the mark brings its own.
        self.space.clear();
    }

    /// What was held back is text after all.
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

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
const LONGEST_MARK: usize = 32;
/// A number above this was never meant as a passage's: `[1984]`.
const LARGEST_NUMBER: usize = 100;

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
            c if self.mark.len() < LONGEST_MARK && is_inside(c) => self.mark.push(c),
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
        if numbers.iter().any(|number| *number > LARGEST_NUMBER.max(self.passages)) {
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
                if first == 0 || last < first || last > LARGEST_NUMBER {
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
mod tests {
    use super::*;

    /// The cleaned text and the marks, which must not depend on how the text is cut.
    fn clean(text: &str, passages: usize) -> (String, Vec<(usize, usize)>) {
        let cut = |size: usize| {
            let chars: Vec<char> = text.chars().collect();
            let mut citations = Citations::new(passages);
            let mut out = String::new();
            for piece in chars.chunks(size) {
                out.push_str(&citations.push(&piece.iter().collect::<String>()));
            }
            let (rest, marks) = citations.finish();
            (
                out + &rest,
                marks.into_iter().map(|mark| (mark.at, mark.number)).collect::<Vec<_>>(),
            )
        };
        let whole = cut(usize::MAX);
        for size in 1..8 {
            assert_eq!(cut(size), whole, "{text:?} in pieces of {size}");
        }
        whole
    }

    #[test]
    fn marks_are_taken_out_with_the_white_space_before_them() {
        for (text, cleaned, marks) in [
            ("It is red [1].", "It is red.", vec![(9, 1)]),
            (
                "It is red. [1] It is big.[2]",
                "It is red. It is big.",
                vec![(10, 1), (21, 2)],
            ),
            (
                "Red [1][3] and big [2, 3].",
                "Red and big.",
                vec![(3, 1), (3, 3), (11, 2), (11, 3)],
            ),
            (
                "탑은 높다 [2]。高い【1】。",
                "탑은 높다。高い。",
                vec![(13, 2), (22, 1)],
            ),
            (
                "All [1-3] of them [^2].",
                "All of them.",
                vec![(3, 1), (3, 2), (3, 3), (11, 2)],
            ),
            ("  lead [1]  ", "lead", vec![(4, 1)]),
            ("[2] Red.", "Red.", vec![(0, 2)]),
        ] {
            assert_eq!(clean(text, 3), (cleaned.to_owned(), marks), "{text}");
        }
    }

    #[test]
    fn brackets_of_the_text_stay_and_invented_numbers_go() {
        for (text, cleaned) in [
            ("It [the tower] fell [1984].", "It [the tower] fell [1984]."),
            ("See [", "See ["),
            ("a [1, b] c", "a [1, b] c"),
            ("x [] y [0] z", "x [] y [0] z"),
            ("Open [12", "Open [12"),
            ("Invented [7].", "Invented."),
            ("[[1] odd", "[ odd"),
        ] {
            assert_eq!(clean(text, 1).0, cleaned, "{text}");
        }
        assert_eq!(clean("Invented [7] and [1].", 1).1, [(12, 1)]);
    }
}

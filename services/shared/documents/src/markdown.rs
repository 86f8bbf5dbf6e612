//! Writes Markdown, block by block.

use std::fmt::Write as _;

/// The deepest heading of Markdown.
const MAX_LEVEL: usize = 6;

/// Markdown that is being written.
#[derive(Debug, Default)]
pub(crate) struct Markdown {
    text: String,
    last: Last,
}

/// What was written last: it decides what separates it from the next block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Block,
    Item,
    Code,
}

impl Markdown {
    /// What has been written so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Where the next block will begin, in bytes.
    pub(crate) fn next_start(&mut self) -> usize {
        self.separate(Last::Block);
        self.text.len()
    }

    /// Writes a paragraph, or several; nothing for an empty one.
    pub(crate) fn paragraph(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        self.separate(Last::Block);
        if is_heading(text) {
            self.text.push('\\');
        }
        self.text.push_str(text);
    }

    /// Writes text that is Markdown already.
    pub(crate) fn raw(&mut self, markdown: &str) {
        let markdown = markdown.trim_matches('\n');
        if !markdown.is_empty() {
            self.separate(Last::Block);
            self.text.push_str(markdown);
        }
    }

    /// Writes a heading on one line, level 1–6.
    pub(crate) fn heading(&mut self, level: usize, text: &str) {
        let text = one_line(text);
        if text.is_empty() {
            return;
        }
        self.separate(Last::Block);
        let marks = "#".repeat(level.clamp(1, MAX_LEVEL));
        let _ = write!(self.text, "{marks} {text}");
    }

    /// Writes an item of a list; `level` from 0; numbered where it has a number.
    pub(crate) fn item(&mut self, level: usize, number: Option<u32>, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        self.separate(Last::Item);
        let indent = "   ".repeat(level.min(MAX_LEVEL));
        let mark = number.map_or_else(|| "-".to_owned(), |number| format!("{number}."));
        let text = text.replace('\n', &format!("\n{indent}   "));
        let _ = write!(self.text, "{indent}{mark} {text}");
    }

    /// Writes lines of code. Those that follow each other become one block.
    pub(crate) fn code(&mut self, lines: &str) {
        self.separate(Last::Code);
        self.text.push_str(lines);
    }

    fn separate(&mut self, next: Last) {
        match (self.last, next) {
            (Last::Code, Last::Code) | (Last::Item, Last::Item) => self.text.push('\n'),
            (last, next) => {
                if last == Last::Code {
                    self.text.push_str("\n```");
                }
                if !self.text.is_empty() && !self.text.ends_with("\n\n") {
                    self.text.push_str("\n\n");
                }
                if next == Last::Code {
                    self.text.push_str("```\n");
                }
            }
        }
        self.last = next;
    }

    /// All that was written.
    pub(crate) fn finish(mut self) -> String {
        if self.last == Last::Code {
            self.text.push_str("\n```");
        }
        self.text.truncate(self.text.trim_end().len());
        self.text
    }
}

/// A text on one line, without the white space around it and twice in it.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether Markdown would read the beginning of a paragraph as a heading.
fn is_heading(text: &str) -> bool {
    let rest = text.trim_start_matches('#');
    let marks = text.len() - rest.len();
    (1..=MAX_LEVEL).contains(&marks) && rest.starts_with([' ', '\t'])
}

#[cfg(test)]
mod tests;

//! Writes Markdown as the text of a page goes by.

use super::escape;

/// Line breaks between two blocks.
const BLOCK: usize = 2;

/// Markdown that is being written.
#[derive(Debug, Default)]
pub(super) struct Writer {
    out: String,
    /// Where the text of the innermost item, quotation or cell begins: nothing separates it from what is before.
    floor: usize,
    /// Line breaks that come before the next text.
    breaks: usize,
    /// Whether a space comes before the next text.
    space: bool,
    /// Elements around the text whose white space is meant, and whose text needs no escapes.
    raw: Raw,
    /// The emphasis that ended last: where it began, where it ended.
    emphasis: Option<(&'static str, usize, usize)>,
}

/// Which code the text stands in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Raw {
    pub(super) lines: usize,
    pub(super) code: usize,
}

/// What was set aside for a text of its own.
#[derive(Debug)]
pub(super) struct Aside {
    out: String,
    floor: usize,
    breaks: usize,
    space: bool,
    raw: Raw,
}

impl Writer {
    /// Bytes written.
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    /// Where the next text will begin, or a space before it.
    pub(super) fn start(&self) -> usize {
        self.out.len()
    }

    /// What was written from `start` on.
    pub(super) fn since(&self, start: usize) -> &str {
        self.out.get(start..).unwrap_or_default()
    }

    /// The next text begins a block.
    pub(super) fn end_block(&mut self) {
        self.end_lines(BLOCK);
    }

    /// At least as many line breaks come before the next text.
    pub(super) fn end_lines(&mut self, count: usize) {
        self.breaks = self.breaks.max(count);
        self.space = false;
    }

    /// Writes a piece of the page's text.
    pub(super) fn text(&mut self, text: &str) {
        if self.raw.lines > 0 {
            if !text.is_empty() {
                self.separate();
                self.out.push_str(text);
            }
            return;
        }
        let mut is_start = true;
        for word in text.split_inclusive(|c: char| c.is_ascii_whitespace()) {
            let bare = word.trim_end_matches(|c: char| c.is_ascii_whitespace());
            if !bare.is_empty() {
                self.separate();
                if self.raw.code > 0 {
                    self.out.push_str(bare);
                } else {
                    // With what follows it: a dash and a space begin an item.
                    escape::push(&mut self.out, word, is_start);
                    self.out.truncate(self.out.len() - (word.len() - bare.len()));
                }
            }
            is_start = false;
            self.space |= bare.len() < word.len();
        }
    }

    /// Ends the line within a block.
    pub(super) fn line_break(&mut self) {
        if self.raw.lines > 0 {
            self.out.push('\n');
        } else if self.out.len() > self.floor && self.breaks == 0 {
            self.space = false;
            self.out.push_str("  \n");
        }
    }

    /// Writes a block that is Markdown already.
    pub(super) fn block(&mut self, markdown: &str) {
        let markdown = markdown.trim();
        if !markdown.is_empty() {
            self.end_block();
            self.separate();
            self.out.push_str(markdown);
            self.end_block();
        }
    }

    pub(super) fn enter_lines(&mut self) {
        self.raw.lines += 1;
    }

    pub(super) fn leave_lines(&mut self) {
        self.raw.lines = self.raw.lines.saturating_sub(1);
    }

    pub(super) fn enter_code(&mut self) {
        self.raw.code += 1;
    }

    pub(super) fn leave_code(&mut self) {
        self.raw.code = self.raw.code.saturating_sub(1);
    }

    /// Where emphasis begins; what was marked in the same way just before goes on, unless a space is between.
    pub(super) fn begin_emphasis(&mut self, mark: &'static str) -> (usize, bool) {
        match self.emphasis.take() {
            Some((last, start, end))
                if last == mark && end == self.out.len() && !self.space && self.breaks == 0 && start >= self.floor =>
            {
                self.out.truncate(end - mark.len());
                (start, true)
            }
            _ => (self.out.len(), false),
        }
    }

    /// Marks what was written from `start` on; nothing where there is nothing but white space.
    pub(super) fn end_emphasis(&mut self, mark: &'static str, start: usize, continued: bool) {
        if continued {
            self.out.push_str(mark);
            self.emphasis = Some((mark, start, self.out.len()));
        } else if self.wrap(start, mark, mark) {
            self.emphasis = Some((mark, start, self.out.len()));
        }
    }

    /// Marks code in a line.
    pub(super) fn end_code(&mut self, start: usize) {
        let longest = longest_run(self.since(start));
        let (pad, runs) = if self.since(start).contains('`') {
            (
                self.since(start).trim().starts_with('`') || self.since(start).trim().ends_with('`'),
                longest,
            )
        } else {
            (false, 0)
        };
        let fence = "`".repeat(runs + 1);
        let (before, after) = if pad {
            (format!("{fence} "), format!(" {fence}"))
        } else {
            (fence.clone(), fence)
        };
        self.wrap(start, &before, &after);
    }

    /// Makes a link of what was written from `start` on, whether that is a text or not.
    pub(super) fn end_link(&mut self, start: usize, target: &str, title: Option<&str>) {
        let mut after = String::from("](");
        let has_space = target.contains(' ');
        if has_space {
            after.push('<');
        }
        for c in target.chars() {
            if matches!(c, '(' | ')') {
                after.push('\\');
            }
            after.push(c);
        }
        if has_space {
            after.push('>');
        }
        if let Some(title) = title {
            after.push_str(" \"");
            after.push_str(&title.replace('"', "\\\""));
            after.push('"');
        }
        after.push(')');
        if !self.wrap(start, "[", &after) {
            self.separate();
            self.out.push('[');
            self.out.push_str(&after);
        }
    }

    /// Makes a heading of what was written from `start` on.
    pub(super) fn end_heading(&mut self, level: usize, start: usize) {
        let text = self.cut(start);
        let mut words = text.split_ascii_whitespace();
        if let Some(first) = words.next() {
            self.end_block();
            self.separate();
            self.out.push_str(&"#".repeat(level));
            self.out.push(' ');
            self.out.push_str(first);
            for word in words {
                self.out.push(' ');
                self.out.push_str(word);
            }
        }
        self.end_block();
    }

    /// Makes a block of code of what was written from `start` on.
    pub(super) fn end_fence(&mut self, start: usize, language: &str) {
        let text = self.cut(start);
        let fence = "`".repeat(longest_run(&text).max(2) + 1);
        let text = text.trim_start_matches('\n');
        let text = text.strip_suffix('\n').unwrap_or(text);
        self.end_block();
        self.separate();
        for part in [&fence, language, "\n", text, "\n", &fence] {
            self.out.push_str(part);
        }
    }

    /// Begins an item after `marker`, or a quotation without one.
    pub(super) fn begin_part(&mut self, marker: &str) -> Part {
        let before = self.out.len();
        self.separate();
        self.out.push_str(marker);
        let part = Part {
            before,
            start: self.out.len(),
            floor: self.floor,
        };
        self.floor = self.out.len();
        self.breaks = 0;
        part
    }

    /// Ends it: the lines of a quotation get `prefix`, those of an item after the first one.
    pub(super) fn end_part(&mut self, part: &Part, prefix: &str, is_item: bool) {
        let Part { before, start, floor } = *part;
        self.floor = floor;
        let text = self.cut(start);
        let text = text.trim();
        if text.is_empty() {
            self.out.truncate(before);
            return;
        }
        for (number, line) in text.lines().enumerate() {
            if number > 0 {
                self.out.push('\n');
            }
            let has_prefix = if is_item { number > 0 && !line.is_empty() } else { true };
            if has_prefix {
                self.out.push_str(prefix);
            }
            self.out.push_str(line);
        }
    }

    /// Begins a text of its own.
    pub(super) fn set_aside(&mut self) -> Aside {
        self.emphasis = None;
        Aside {
            out: std::mem::take(&mut self.out),
            floor: std::mem::take(&mut self.floor),
            breaks: std::mem::take(&mut self.breaks),
            space: std::mem::take(&mut self.space),
            raw: std::mem::take(&mut self.raw),
        }
    }

    /// Ends that text, and goes on where the one before was left.
    pub(super) fn resume(&mut self, aside: Aside) -> String {
        let Aside {
            out,
            floor,
            breaks,
            space,
            raw,
        } = aside;
        self.emphasis = None;
        (self.floor, self.breaks, self.space, self.raw) = (floor, breaks, space, raw);
        std::mem::replace(&mut self.out, out)
    }

    /// All that was written.
    pub(super) fn finish(mut self) -> String {
        self.out.truncate(self.out.trim_end().len());
        let blank = self.out.len() - self.out.trim_start().len();
        self.out.drain(..blank);
        self.out
    }

    /// Writes the line breaks or the space that are due.
    fn separate(&mut self) {
        if self.raw.lines == 0 || self.breaks > 0 {
            if self.out.len() == self.floor {
                // Nothing to be separated from.
            } else if self.breaks > 0 {
                let has = self.out.len() - self.out.trim_end_matches('\n').len();
                let due = self.breaks.saturating_sub(has);
                self.out.push_str(if due >= BLOCK {
                    "\n\n"
                } else if due == 1 {
                    "\n"
                } else {
                    ""
                });
            } else if self.space && !self.out.ends_with([' ', '\n']) {
                self.out.push(' ');
            }
        }
        (self.breaks, self.space) = (0, false);
    }

    /// Takes back what was written from `start` on.
    fn cut(&mut self, start: usize) -> String {
        let text = self.since(start).to_owned();
        self.out.truncate(start);
        self.emphasis = None;
        text
    }

    /// Puts marks around what was written from `start` on, and says whether there was anything.
    fn wrap(&mut self, start: usize, before: &str, after: &str) -> bool {
        let text = self.since(start);
        let leading = text.len() - text.trim_start().len();
        if leading == text.len() {
            return false;
        }
        let end = start + text.trim_end().len();
        self.out.insert_str(end, after);
        self.out.insert_str(start + leading, before);
        true
    }
}

/// An item or a quotation that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    before: usize,
    start: usize,
    floor: usize,
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

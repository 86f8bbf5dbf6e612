//! Where a passage stands in its document, in words: its title, the headings above it, and the page of a PDF. Every
//! service and every reader is told it in this form.

use std::borrow::Cow;

use crate::place::pieces_within;
use crate::v1::{Passage, Span};

/// Stands between a title and headings.
const BELOW: &str = " › ";
/// What the heading of a page of a PDF begins with; its number follows.
const PAGE: &str = "Page ";

impl Passage {
    /// The title and the headings above the text on one line, `Handbook › Leave › Parental leave`; empty where there are
    /// none.
    #[must_use]
    pub fn title_line(&self) -> Cow<'_, str> {
        if self.headings.is_empty() {
            return Cow::Borrowed(&self.title);
        }
        let parts = std::iter::once(&self.title).chain(&self.headings);
        let parts: Vec<&str> = parts.map(String::as_str).filter(|part| !part.is_empty()).collect();
        Cow::Owned(parts.join(BELOW))
    }

    /// Where the characters at `quoted` of the text stand in the document, or the text where nothing is quoted: `page 3 ›
    /// Leave`; empty where that is unknown. It is as long as the headings, and may hold what they hold.
    #[must_use]
    pub fn place_line(&self, quoted: Option<Span>) -> String {
        let page = self.page(quoted).map(|page| format!("page {page}"));
        let headings = self.headings.iter().filter(|heading| page_number(heading).is_none());
        let headings = headings.filter(|heading| !heading.is_empty()).cloned();
        page.into_iter().chain(headings).collect::<Vec<_>>().join(BELOW)
    }

    /// The page of a PDF on which the characters at `quoted` of the text stand, or on which the text begins where nothing
    /// is quoted; `None` where that is unknown.
    ///
    /// It is that of the last line `# Page 3` of the text up to there, else that of the headings. Of a refined passage, a
    /// line counts only for what follows it without a gap: the heading of the next page may have been left out.
    #[must_use]
    pub fn page(&self, quoted: Option<Span>) -> Option<u32> {
        let at = quoted.map_or(0, |quoted| quoted.start);
        self.page_in_text(at)
            .or_else(|| self.headings.iter().rev().find_map(|heading| page_number(heading)))
    }

    /// The page of the last line with one that begins at or before a code point of the text.
    fn page_in_text(&self, at: u32) -> Option<u32> {
        let (mut start, mut last) = (0_u32, None);
        for line in self.text.split_inclusive('\n') {
            if start > at {
                break;
            }
            if let Some(page) = line.strip_prefix("# ").and_then(page_number) {
                last = Some((start, page));
            }
            start = start.saturating_add(u32::try_from(line.chars().count()).unwrap_or(u32::MAX));
        }
        let (line, page) = last?;
        let between = Span {
            start: line,
            end: at.saturating_add(1),
        };
        let is_whole =
            self.pieces.is_empty() || pieces_within(self, between).any(|piece| piece.in_text == Some(between));
        is_whole.then_some(page)
    }
}

/// The number of a page of a PDF, of a heading that is one's: 3 of `Page 3`.
#[must_use]
pub fn page_number(heading: &str) -> Option<u32> {
    let number = heading.trim_end().strip_prefix(PAGE)?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests;

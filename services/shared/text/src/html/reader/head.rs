//! What a page says about itself.

use super::{published::Published, tag::StartTag};
use crate::html::MAX_LINE_BYTES;

#[derive(Debug, Default)]
pub(super) struct Head {
    canonical: Option<String>,
    open_graph: Option<String>,
    title: Option<String>,
    heading: Option<String>,
    published: Published,
    /// What is being read, and how many elements are open with it.
    reading: Option<(Line, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Title,
    Heading,
    /// Linked data.
    Data,
}

impl Head {
    /// Looks for the page's address and date, in a tag that may stand in what is hidden.
    pub(super) fn look_at(&mut self, tag: &StartTag, is_hidden: bool) {
        self.published.look_at(tag, is_hidden);
        let is_canonical = || {
            let rel = tag.rel.as_deref().unwrap_or_default();
            rel.split_ascii_whitespace()
                .any(|rel| rel.eq_ignore_ascii_case("canonical"))
        };
        match tag.name.as_str() {
            "link" if self.canonical.is_none() && is_canonical() => self.canonical.clone_from(&tag.href),
            "meta" if self.open_graph.is_none() && tag.property.as_deref() == Some("og:url") => {
                self.open_graph.clone_from(&tag.content);
            }
            _ => {}
        }
    }

    /// An element has begun, and so many are open with it.
    pub(super) fn begin(&mut self, tag: &StartTag, is_hidden: bool, open: usize) {
        if self.reading.is_some() {
            return;
        }
        let name = tag.name.as_str();
        if self.published.begin(tag) {
            self.reading = Some((Line::Data, open));
        }
        // The first one: drawings inside the page may have titles of their own.
        if name == "title" && self.title.is_none() {
            self.title = Some(String::new());
            self.reading = Some((Line::Title, open));
        } else if name == "h1" && self.heading.is_none() && !is_hidden {
            self.heading = Some(String::new());
            self.reading = Some((Line::Heading, open));
        }
    }

    pub(super) fn text(&mut self, text: &str, is_hidden: bool) {
        let line = match self.reading {
            Some((Line::Title, _)) => &mut self.title,
            Some((Line::Heading, _)) if !is_hidden => &mut self.heading,
            Some((Line::Data, _)) => return self.published.text(text),
            _ => return,
        };
        if let Some(line) = line {
            let room = MAX_LINE_BYTES.saturating_sub(line.len());
            line.push_str(&text[..text.floor_char_boundary(room)]);
        }
    }

    /// An element has ended, and so many are still open.
    pub(super) fn end(&mut self, open: usize) {
        if let Some((line, _)) = self.reading.take_if(|(_, depth)| open < *depth)
            && line == Line::Data
        {
            self.published.end();
        }
    }

    pub(super) fn title(&self) -> Option<String> {
        line(self.title.as_deref())
    }

    pub(super) fn heading(&self) -> Option<String> {
        line(self.heading.as_deref())
    }

    /// The page's address, and when it was published.
    pub(super) fn url_and_date(self) -> (Option<String>, Option<String>) {
        (self.canonical.or(self.open_graph), self.published.date())
    }
}

/// A text on one line; none where that is empty.
fn line(text: Option<&str>) -> Option<String> {
    let words: Vec<_> = text?.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

//! Splits Markdown text into sections at its headings.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// A section of a Markdown text: one heading and the text under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Byte range in the text, heading included.
    pub range: Range<usize>,
    /// Heading level, 1–6; 0 for text before the first heading.
    pub level: u8,
    /// The heading and its parent headings, outermost first.
    pub headings: Vec<String>,
}

/// Splits `text` into sections that cover all of it, in order and without gaps.
///
/// A heading without text is merged into the next section, the last one into the previous section. A text without
/// headings is one section; an empty text has none.
pub fn sections(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut path: Vec<(u8, String)> = Vec::new();
    let mut current = Section {
        range: 0..0,
        level: 0,
        headings: Vec::new(),
    };
    for Heading { at, body, level, title } in headings(text) {
        let mut start = at;
        if is_blank(text, current.range.end..at) {
            start = current.range.start;
        } else {
            current.range.end = at;
            sections.push(current);
        }
        path.retain(|(above, _)| *above < level);
        path.push((level, title));
        current = Section {
            range: start..body,
            level,
            headings: path.iter().map(|(_, title)| title.clone()).collect(),
        };
    }
    match sections.last_mut() {
        Some(last) if is_blank(text, current.range.end..text.len()) => last.range.end = text.len(),
        _ if text.is_empty() => {}
        _ => {
            current.range.end = text.len();
            sections.push(current);
        }
    }
    sections
}

/// The byte ranges of the [`sections`] of `text`, at most `most`, at least 1: the last one holds what is left.
pub fn section_ranges(text: &str, most: usize) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut current = 0..0;
    for Heading { at, body, .. } in headings(text).into_iter().take(most.saturating_sub(1)) {
        if is_blank(text, current.end..at) {
            current.end = body;
        } else {
            ranges.push(current.start..at);
            current = at..body;
        }
    }
    match ranges.last_mut() {
        Some(last) if is_blank(text, current.end..text.len()) => last.end = text.len(),
        _ if text.is_empty() => {}
        _ => ranges.push(current.start..text.len()),
    }
    ranges
}

fn is_blank(text: &str, range: Range<usize>) -> bool {
    text.get(range).is_none_or(|between| between.trim().is_empty())
}

struct Heading {
    /// Byte offset of the heading.
    at: usize,
    /// Byte offset of the first byte after the heading.
    body: usize,
    level: u8,
    title: String,
}

/// The top-level headings. Headings inside block quotes and lists are skipped.
fn headings(text: &str) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut open: Option<Heading> = None;
    let (mut nesting, mut images) = (0_usize, 0_usize);
    // What the images of the open heading say: its title if it says nothing else.
    let mut pictured = String::new();
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::BlockQuote(_) | Tag::List(_)) => nesting += 1,
            Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_)) => nesting = nesting.saturating_sub(1),
            Event::Start(Tag::Image { .. }) => images += 1,
            Event::End(TagEnd::Image) => images = images.saturating_sub(1),
            Event::Start(Tag::Heading { level, .. }) if nesting == 0 => {
                pictured.clear();
                open = Some(Heading {
                    at: range.start,
                    body: range.end,
                    level: level as u8,
                    title: String::new(),
                });
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some(heading) = open.as_mut().filter(|heading| heading.title.trim().is_empty()) {
                    heading.title = std::mem::take(&mut pictured);
                }
                found.extend(open.take());
            }
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut open {
                    let said = if images > 0 { &mut pictured } else { &mut heading.title };
                    said.push_str(&part);
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests;

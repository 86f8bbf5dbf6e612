//! Where a Markdown text divides by itself.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// A part of a text under one heading, the heading included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Bytes in the text.
    pub range: Range<usize>,
    /// Level of its heading, 1–6; 0 for what stands before the first.
    pub level: u8,
    /// Its heading and those it stands under, outermost first.
    pub headings: Vec<String>,
}

/// Divides a text at its headings: all of it, in order and without gaps. A heading with nothing under it stays with what
/// follows, the last one with what is before it. One section where there are no headings, none for an empty text.
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

fn is_blank(text: &str, range: Range<usize>) -> bool {
    text.get(range).is_none_or(|between| between.trim().is_empty())
}

struct Heading {
    /// First byte of the heading.
    at: usize,
    /// First byte after it.
    body: usize,
    level: u8,
    title: String,
}

/// The headings that stand on their own, not those in quotations and lists.
fn headings(text: &str) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut open: Option<Heading> = None;
    let mut inside = 0_usize;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::BlockQuote(_) | Tag::List(_)) => inside += 1,
            Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_)) => inside = inside.saturating_sub(1),
            Event::Start(Tag::Heading { level, .. }) if inside == 0 => {
                open = Some(Heading {
                    at: range.start,
                    body: range.end,
                    level: level as u8,
                    title: String::new(),
                });
            }
            Event::End(TagEnd::Heading(_)) => found.extend(open.take()),
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut open {
                    heading.title.push_str(&part);
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests;

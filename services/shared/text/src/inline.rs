//! A sentence as a person reads it.

use pulldown_cmark::{BrokenLink, CowStr, Event, LinkType, Parser, Tag, TagEnd};

/// A word put before a sentence so that its start is not read as a list item, a heading or a quotation.
const PARAGRAPH: &str = "x";

/// Tags of HTML that stand in Markdown for form alone. Others may be what the sentence is about, as in `Vec<T>`.
const TAGS: [&str; 30] = [
    "a",
    "b",
    "blockquote",
    "br",
    "center",
    "code",
    "details",
    "div",
    "em",
    "font",
    "h1",
    "h2",
    "h3",
    "h4",
    "hr",
    "i",
    "img",
    "kbd",
    "li",
    "ol",
    "p",
    "picture",
    "pre",
    "small",
    "span",
    "strong",
    "sub",
    "summary",
    "sup",
    "ul",
];

/// A sentence of Markdown on one line without its marks: emphasis, code marks, links, images and tags of form, and the
/// slashes that the lines of a comment in source code begin with.
///
/// The words of links stay, their addresses and images go. It never adds a letter or a digit.
#[must_use]
pub fn without_marks(sentence: &str) -> String {
    let line: Vec<&str> = sentence.lines().flat_map(without_slashes).collect();
    let line = format!("{PARAGRAPH} {}", line.join(" "));
    let mut text = String::with_capacity(line.len());
    let mut images = 0_usize;
    // A sentence does not have the definitions of its links with it.
    let mut defined = |link: BrokenLink<'_>| {
        let is_link = matches!(link.link_type, LinkType::Reference | LinkType::Collapsed)
            && link.reference.chars().any(char::is_alphabetic);
        is_link.then_some((CowStr::Borrowed(""), CowStr::Borrowed("")))
    };
    let options = pulldown_cmark::Options::empty();
    for event in Parser::new_with_broken_link_callback(&line, options, Some(&mut defined)) {
        match event {
            Event::Start(Tag::Image { .. }) => images += 1,
            Event::End(TagEnd::Image) => images -= 1,
            Event::Text(part) | Event::Code(part) if images == 0 => text.push_str(&part),
            Event::InlineHtml(tag) if !is_form(&tag) => text.push_str(&tag),
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            _ => {}
        }
    }
    let text = text.strip_prefix(PARAGRAPH).unwrap_or(&text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words of a line without the slashes of a comment.
fn without_slashes(line: &str) -> impl Iterator<Item = &str> {
    let is_mark = |word: &&str| matches!(*word, "//" | "///" | "//!");
    let mut words = line.split_whitespace().peekable();
    words.next_if(is_mark);
    words
}

/// Whether a tag of HTML says only how something looks.
fn is_form(tag: &str) -> bool {
    let name = tag.trim_start_matches(['<', '/']);
    let name = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .next()
        .unwrap_or_default();
    tag.starts_with("<!--") || TAGS.contains(&name.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests;

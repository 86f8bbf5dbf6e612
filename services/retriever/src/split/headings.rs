//! Where a Markdown text divides by itself.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// What stands between two headings, the first heading included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Bytes in the text.
    pub(super) range: Range<usize>,
    /// Level of its heading, 1–6; 0 for what stands before the first.
    pub(super) level: u8,
    /// Its heading and those it stands under, outermost first.
    pub(super) path: Vec<String>,
}

/// Divides a text at its headings; a text without any is one block. Blocks follow one another without gaps.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut path: Vec<(u8, String)> = Vec::new();
    let mut current = Block {
        range: 0..0,
        level: 0,
        path: Vec::new(),
    };
    for Heading { at, body, level, title } in headings(text) {
        // A heading with nothing under it belongs to what comes after.
        let empty = text[current.range.end..at].trim().is_empty();
        let start = if empty { current.range.start } else { at };
        if !empty {
            current.range.end = at;
            blocks.push(current);
        }
        path.retain(|(above, _)| *above < level);
        path.push((level, title));
        current = Block {
            range: start..body,
            level,
            path: path.iter().map(|(_, title)| title.clone()).collect(),
        };
    }
    current.range.end = text.len();
    blocks.push(current);
    blocks
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
mod tests {
    use super::*;

    fn outline(text: &str) -> Vec<(String, String)> {
        blocks(text)
            .iter()
            .map(|b| (b.path.join("/"), text[b.range.clone()].trim().to_owned()))
            .collect()
    }

    #[test]
    fn a_text_divides_at_its_headings() {
        let text = "before\n\n# A\n\nof a\n\n## B `x`\nof b\n\nC\n===\n\nof c";
        assert_eq!(
            outline(text),
            [
                (String::new(), "before".into()),
                ("A".into(), "# A\n\nof a".into()),
                ("A/B x".into(), "## B `x`\nof b".into()),
                ("C".into(), "C\n===\n\nof c".into()),
            ]
        );
    }

    #[test]
    fn a_heading_without_text_goes_with_what_follows() {
        assert_eq!(
            outline("# A\n\n## B\n\ntext"),
            [("A/B".into(), "# A\n\n## B\n\ntext".into())]
        );
        assert_eq!(
            outline("text\n# End"),
            [(String::new(), "text".into()), ("End".into(), "# End".into())]
        );
    }

    #[test]
    fn code_quotations_and_lists_have_no_headings() {
        assert_eq!(outline("```\n# not one\n```\n\n> # nor this\n\n- # nor that").len(), 1);
        assert_eq!(outline("").len(), 1);
    }
}

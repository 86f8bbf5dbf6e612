//! Markdown as a person reads it.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The text of Markdown without its marks, in blocks with blank lines between. Items begin with `- `, the cells of a
/// table's row stand on one line with ` | ` between, and code keeps its lines.
#[must_use]
pub fn plain(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    // What stands between the last text and the next.
    let mut gap = "";
    let mut prefix = "";
    let mut push = |written: &str, gap: &mut &'static str, prefix: &mut &'static str| {
        if !text.is_empty() {
            text.push_str(gap);
        }
        *gap = "";
        text.push_str(std::mem::take(prefix));
        text.push_str(written);
    };
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Text(written) | Event::Code(written) => push(&written, &mut gap, &mut prefix),
            Event::SoftBreak => push(" ", &mut gap, &mut prefix),
            Event::HardBreak => gap = "\n",
            Event::Start(Tag::Item) => (gap, prefix) = ("\n\n", "- "),
            Event::End(TagEnd::TableCell) if gap.is_empty() => gap = " | ",
            Event::Start(Tag::Table(_) | Tag::TableRow | Tag::List(_)) | Event::Rule => gap = "\n\n",
            Event::End(
                TagEnd::Paragraph
                | TagEnd::Heading(_)
                | TagEnd::CodeBlock
                | TagEnd::Item
                | TagEnd::TableHead
                | TagEnd::TableRow,
            ) => (gap, prefix) = ("\n\n", ""),
            _ => {}
        }
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests;

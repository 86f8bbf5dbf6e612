//! Whether a piece of Markdown says anything.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::words;

/// Words outside of headings and links with which a piece says something.
const MIN_WORDS: usize = 3;

/// Links with which a piece can be a list of links.
const MIN_LINKS: usize = 3;

/// Words in links for one outside of them, above which such a piece is a list of links.
const MAX_LINK_SHARE: usize = 4;

/// Whether a piece of Markdown has sentences, table cells or code: more than headings, link definitions, images, bare
/// addresses, rules, and lists of links such as a table of contents.
///
/// A piece without content answers no question, and as it names what others explain, a search finds it first.
#[must_use]
pub fn has_content(markdown: &str) -> bool {
    let counts = Counts::of(markdown);
    let list_of_links = counts.links >= MIN_LINKS && counts.in_links > counts.outside * MAX_LINK_SHARE;
    counts.outside >= MIN_WORDS && !list_of_links
}

/// What a piece has.
#[derive(Default)]
struct Counts {
    /// Words outside of headings, links and images.
    outside: usize,
    /// Words in links.
    in_links: usize,
    links: usize,
}

impl Counts {
    fn of(markdown: &str) -> Self {
        let mut counts = Self::default();
        let (mut headings, mut links, mut images) = (0_usize, 0_usize, 0_usize);
        for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Heading { .. }) => headings += 1,
                Event::End(TagEnd::Heading(_)) => headings -= 1,
                Event::Start(Tag::Link { .. }) => (links, counts.links) = (links + 1, counts.links + 1),
                Event::End(TagEnd::Link) => links -= 1,
                Event::Start(Tag::Image { .. }) => images += 1,
                Event::End(TagEnd::Image) => images -= 1,
                Event::Text(text) | Event::Code(text) if headings == 0 && images == 0 => {
                    let without_addresses = text.split_whitespace().filter(|part| !part.contains("://"));
                    let number = without_addresses.map(|part| words(part).len()).sum::<usize>();
                    *if links == 0 {
                        &mut counts.outside
                    } else {
                        &mut counts.in_links
                    } += number;
                }
                _ => {}
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests;

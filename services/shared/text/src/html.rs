//! HTML as Markdown, with what a page says about itself.
//!
//! A page is read tag by tag and no tree of it is kept: tag soup that a browser turns into far more elements than were
//! written costs no more than its bytes.

mod element;
mod escape;
mod open;
mod reader;
mod table;
mod writer;

/// Most elements around an element.
pub const MAX_DEPTH: usize = 512;
/// Most elements around an element, with those that say nothing: each `<div>` directly in a `<div>`.
const MAX_OPEN: usize = 10_000;
/// Most elements of a page, some ten times what the largest pages have that people wrote.
pub const MAX_ELEMENTS: usize = 4_000_000;
/// Most attributes of an element.
pub const MAX_ATTRIBUTES: usize = 1_000;
/// A `<main>` shorter than this, in characters, is a frame that a script would have filled: the whole body is read.
const MIN_MAIN_CHARS: usize = 200;
/// Longest title, heading and address, in bytes; a longer title or heading is cut, a longer address is none.
pub const MAX_LINE_BYTES: usize = 2048;

/// What of a page is read.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Elements that are left out with all that is in them, in lower case. `title` and `template` always are.
    pub skipped: &'static [&'static str],
    /// Whether the page is read as a browser shows its content: without hidden elements and the targets of links, and
    /// `<main>` alone where it holds the content.
    pub shown: bool,
}

/// How much is read.
#[derive(Clone, Copy)]
pub struct Limits<'l> {
    /// Most bytes of Markdown.
    pub bytes: usize,
    /// Whether to stop, because time is over or nobody waits any more. Asked every thousand tokens or so.
    pub stop: &'l dyn Fn() -> bool,
}

/// A page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Its first `<title>`, on one line; none where that is empty.
    pub title: Option<String>,
    /// Its first `<h1>`, on one line; none where that is empty.
    pub heading: Option<String>,
    /// Where it says that it is to be found: its canonical link, else its Open Graph URL, as written.
    pub url: Option<String>,
    /// When it says that it was published, as written: its Open Graph `article:published_time`, else the `datePublished` of
    /// its JSON-LD, else its first shown `<time datetime>`. A date or a time in the form of ISO 8601, at most 80 bytes.
    pub published: Option<String>,
    /// Its content as Markdown.
    pub markdown: String,
}

/// Why a page cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HtmlError {
    /// More elements are nested than are kept track of.
    #[error("its HTML is nested more than {MAX_DEPTH} elements deep: simplify it, or save it as plain text")]
    TooDeep,
    /// A count is above a limit.
    #[error("its HTML has more than {limit} {what}: split it, or save it as plain text")]
    TooMany {
        /// What is counted, in the plural.
        what: &'static str,
        /// Most of them.
        limit: usize,
    },
    /// [`Limits::stop`] said so.
    #[error("reading its HTML was stopped")]
    Stopped,
}

/// Reads a page. Blocks: a large page takes a second.
///
/// # Errors
/// [`HtmlError::TooDeep`] for a page that nests more than [`MAX_DEPTH`] elements, where a `<div>` directly in a `<div>`
/// counts once with it; [`HtmlError::TooMany`] above the other limits; [`HtmlError::Stopped`].
pub fn read(html: &str, rules: Rules, limits: Limits<'_>) -> Result<Page, HtmlError> {
    reader::read(html, rules, limits)
}

#[cfg(test)]
mod tests;

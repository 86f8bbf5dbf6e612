//! Splits a text into sections, and sections into the chunks that are embedded.

mod tokens;

use std::ops::Range;

use emend_text::{Section, sections};
use text_splitter::{ChunkConfig, ChunkConfigError, MarkdownSplitter, TextSplitter};

use tokens::Tokens;

/// Maximum bytes of a section. A section becomes the text of a passage, which may have at most 64 KiB.
const MAX_SECTION_BYTES: usize = 60 << 10;

/// Maximum bytes of the input of a splitter. A splitter scans the rest of its input for every piece, so an unbounded
/// input without spaces would take hours.
const MAX_WINDOW_BYTES: usize = 32 << 10;

/// The sizes of sections and chunks, in the embedder's tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SplitSettings {
    /// Maximum tokens of a chunk.
    pub(crate) chunk: usize,
    /// Overlap of adjacent chunks in tokens.
    pub(crate) overlap: usize,
    /// Maximum tokens of a section.
    pub(crate) section: usize,
}

/// A section: the larger unit of text that a chunk belongs to and that can be read on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SectionPiece<'t> {
    /// Offset of the first code point in the text.
    pub(crate) start: u32,
    /// Its text.
    pub(crate) text: &'t str,
    /// The headings above it, outermost first.
    pub(crate) headings: Vec<String>,
}

/// A chunk: the unit of text that is embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkPiece<'t> {
    /// The index of its section.
    pub(crate) section: u32,
    /// Offset of the first code point in the text.
    pub(crate) start: u32,
    /// One past the last code point.
    pub(crate) end: u32,
    /// Its text.
    pub(crate) text: &'t str,
}

/// The sections and chunks of a text, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SplitText<'t> {
    pub(crate) sections: Vec<SectionPiece<'t>>,
    pub(crate) chunks: Vec<ChunkPiece<'t>>,
}

/// Why a text is not split.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SplitError {
    /// The sizes do not go together.
    #[error(transparent)]
    Config(#[from] ChunkConfigError),
    /// Nobody waits for the pieces any more.
    #[error("splitting it was stopped")]
    Stopped,
}

impl SplitSettings {
    /// Splits `text`. Sections of Markdown begin at its headings; small adjacent ones are merged and large ones are
    /// split.
    ///
    /// Every character that is not white space is in a section and in a chunk. A chunk is within its section.
    ///
    /// # Errors
    /// [`SplitError`] if the overlap is not smaller than the chunk, or once `stop` says so.
    pub(crate) fn split<'t>(
        &self,
        text: &'t str,
        markdown: bool,
        count: &(dyn Fn(&str) -> usize + Sync),
        stop: &dyn Fn() -> bool,
    ) -> Result<SplitText<'t>, SplitError> {
        let tokens = Tokens::new(text, count, MAX_SECTION_BYTES, stop).ok_or(SplitError::Stopped)?;
        let sections = Splitter::new(markdown, ChunkConfig::new(self.section).with_sizer(&tokens));
        let chunks = Splitter::new(
            markdown,
            ChunkConfig::new(self.chunk)
                .with_sizer(&tokens)
                .with_overlap(self.overlap)?,
        );
        let mut pieces = SplitText::default();
        let mut cursor = Cursor::default();
        let blocks = if markdown {
            self.merged_sections(text, &tokens)
        } else {
            vec![single_section(text)]
        };
        for (window, headings) in blocks
            .iter()
            .flat_map(|block| windows(text, &block.range).map(|window| (window, &block.headings)))
        {
            if stop() {
                return Err(SplitError::Stopped);
            }
            for section in sections.split(&text[window.clone()]) {
                let at = window.start + section.start;
                let section = &text[at..window.start + section.end];
                let start = cursor.code_points(text, at);
                let number = u32::try_from(pieces.sections.len()).unwrap_or(u32::MAX);
                let mut within = Cursor::default();
                for chunk in chunks.split(section) {
                    // With an overlap, a chunk begins before the end of the last one.
                    let first = start + within.code_points(section, chunk.start);
                    let chunk = &section[chunk];
                    let end = first + u32::try_from(chunk.chars().count()).unwrap_or(u32::MAX);
                    pieces.chunks.push(ChunkPiece {
                        section: number,
                        start: first,
                        end,
                        text: chunk,
                    });
                }
                pieces.sections.push(SectionPiece {
                    start,
                    text: section,
                    headings: headings.clone(),
                });
            }
        }
        Ok(pieces)
    }

    /// The Markdown sections of `text`. Small ones are merged with the next ones at the same or a lower heading level,
    /// up to the size of a chunk: a line under a heading is not enough context for an answer.
    fn merged_sections(&self, text: &str, tokens: &Tokens<'_>) -> Vec<Section> {
        let mut merged: Vec<Section> = Vec::new();
        for section in sections(text) {
            if let Some(last) = merged.last_mut()
                && section.level >= last.level
                && tokens.between(last.range.start, section.range.end) <= self.chunk
            {
                last.range.end = section.range.end;
                let shared = last
                    .headings
                    .iter()
                    .zip(&section.headings)
                    .take_while(|(left, right)| left == right)
                    .count();
                last.headings.truncate(shared);
            } else {
                merged.push(section);
            }
        }
        merged
    }
}

/// Splits a range into windows of at most [`MAX_WINDOW_BYTES`], at the end of a paragraph, or else of a line or a word.
fn windows(text: &str, range: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let Range { mut start, end } = range.clone();
    std::iter::from_fn(move || {
        if start >= end {
            return None;
        }
        let rest = &text[start..end];
        let window = &rest[..rest.floor_char_boundary(MAX_WINDOW_BYTES)];
        let length = if window.len() == rest.len() {
            rest.len()
        } else {
            let after = |mark: &str| window.rfind(mark).map(|at| at + mark.len());
            after("\n\n")
                .or_else(|| after("\n"))
                .or_else(|| after(" "))
                .unwrap_or(window.len())
        };
        let window = start..start + length;
        start = window.end;
        Some(window)
    })
}

fn single_section(text: &str) -> Section {
    Section {
        range: 0..text.len(),
        level: 0,
        headings: Vec::new(),
    }
}

/// The splitter for plain text or for Markdown.
enum Splitter<'t> {
    Text(TextSplitter<&'t Tokens<'t>>),
    Markdown(MarkdownSplitter<&'t Tokens<'t>>),
}

impl<'t> Splitter<'t> {
    fn new(markdown: bool, config: ChunkConfig<&'t Tokens<'t>>) -> Self {
        if markdown {
            Self::Markdown(MarkdownSplitter::new(config))
        } else {
            Self::Text(TextSplitter::new(config))
        }
    }

    /// The byte ranges of the parts, in order, without surrounding white space.
    fn split(&self, text: &str) -> Vec<Range<usize>> {
        let ranges = |(start, piece): (usize, &str)| start..start + piece.len();
        match self {
            Self::Text(splitter) => splitter.chunk_indices(text).map(ranges).collect(),
            Self::Markdown(splitter) => splitter.chunk_indices(text).map(ranges).collect(),
        }
    }
}

/// Converts byte offsets to code point offsets, incrementally from the last offset.
#[derive(Default)]
struct Cursor {
    bytes: usize,
    code_points: u32,
}

impl Cursor {
    fn code_points(&mut self, text: &str, bytes: usize) -> u32 {
        let length = |part: &str| u32::try_from(part.chars().count()).unwrap_or(u32::MAX);
        if bytes >= self.bytes {
            self.code_points += length(&text[self.bytes..bytes]);
        } else {
            self.code_points -= length(&text[bytes..self.bytes]);
        }
        self.bytes = bytes;
        self.code_points
    }
}

#[cfg(test)]
mod tests;

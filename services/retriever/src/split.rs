//! Cuts a text into sections, and sections into the chunks that are embedded.

mod tokens;

use std::ops::Range;

use emend_text::{Section, sections};
use text_splitter::{ChunkConfig, ChunkConfigError, MarkdownSplitter, TextSplitter};

use tokens::Tokens;

/// A section is a passage's text, which may have 64 KiB at most.
const MAX_SECTION_BYTES: usize = 60 << 10;

/// The splitter looks at all that is left for every piece that it cuts off: what it is given must be bounded, or a file
/// without a space in it would keep it for hours.
const MAX_WINDOW_BYTES: usize = 32 << 10;

/// How large the pieces are, in the embedder's tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SplitSettings {
    /// Most tokens of a chunk.
    pub(crate) chunk: usize,
    /// Tokens that a chunk repeats of the one before it.
    pub(crate) overlap: usize,
    /// Most tokens of a section.
    pub(crate) section: usize,
}

/// A larger piece that reads well on its own: what a chunk stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SectionPiece<'t> {
    /// First code point in the text.
    pub(crate) start: u32,
    /// Its text.
    pub(crate) text: &'t str,
    /// Headings it stands under, outermost first.
    pub(crate) headings: Vec<String>,
}

/// What is embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkPiece<'t> {
    /// Index of its section.
    pub(crate) section: u32,
    /// First code point in the text.
    pub(crate) start: u32,
    /// One past the last code point.
    pub(crate) end: u32,
    /// Its text.
    pub(crate) text: &'t str,
}

/// A text in pieces, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pieces<'t> {
    pub(crate) sections: Vec<SectionPiece<'t>>,
    pub(crate) chunks: Vec<ChunkPiece<'t>>,
}

impl SplitSettings {
    /// Cuts `text`. Where it is Markdown, sections begin at its headings; small neighbours stay together and large ones
    /// are divided. Every character that is not white space is in a section and in a chunk; a chunk is within its section.
    ///
    /// # Errors
    /// The overlap is not smaller than the chunk.
    pub(crate) fn split<'t>(
        &self,
        text: &'t str,
        markdown: bool,
        count: &(dyn Fn(&str) -> usize + Sync),
    ) -> Result<Pieces<'t>, ChunkConfigError> {
        let tokens = Tokens::new(text, count, MAX_SECTION_BYTES);
        let sections = Cut::new(markdown, ChunkConfig::new(self.section).with_sizer(&tokens));
        let chunks = Cut::new(
            markdown,
            ChunkConfig::new(self.chunk)
                .with_sizer(&tokens)
                .with_overlap(self.overlap)?,
        );
        let mut pieces = Pieces::default();
        let mut cursor = Cursor::default();
        let blocks = if markdown {
            self.together(text, &tokens)
        } else {
            vec![whole(text)]
        };
        for (window, headings) in blocks
            .iter()
            .flat_map(|block| windows(text, &block.range).map(|window| (window, &block.headings)))
        {
            for section in sections.cut(&text[window.clone()]) {
                let at = window.start + section.start;
                let section = &text[at..window.start + section.end];
                let start = cursor.code_points(text, at);
                let number = u32::try_from(pieces.sections.len()).unwrap_or(u32::MAX);
                let mut within = Cursor::default();
                for chunk in chunks.cut(section) {
                    // With an overlap a chunk begins before the last one's end.
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

    /// The parts of a text under its headings, small ones with those that follow at their level or below, up to the size
    /// of a chunk: a line under a heading is no section to answer from.
    fn together(&self, text: &str, tokens: &Tokens<'_>) -> Vec<Section> {
        let mut together: Vec<Section> = Vec::new();
        for section in sections(text) {
            if let Some(last) = together.last_mut()
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
                together.push(section);
            }
        }
        together
    }
}

/// A range in parts that are not too large for the splitter, cut where a paragraph ends, else a line, else a word.
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

fn whole(text: &str) -> Section {
    Section {
        range: 0..text.len(),
        level: 0,
        headings: Vec::new(),
    }
}

/// One of the two splitters.
enum Cut<'t> {
    Text(TextSplitter<&'t Tokens<'t>>),
    Markdown(MarkdownSplitter<&'t Tokens<'t>>),
}

impl<'t> Cut<'t> {
    fn new(markdown: bool, config: ChunkConfig<&'t Tokens<'t>>) -> Self {
        if markdown {
            Self::Markdown(MarkdownSplitter::new(config))
        } else {
            Self::Text(TextSplitter::new(config))
        }
    }

    /// Byte ranges of the pieces, in order, without white space around them.
    fn cut(&self, text: &str) -> Vec<Range<usize>> {
        let ranges = |(start, piece): (usize, &str)| start..start + piece.len();
        match self {
            Self::Text(splitter) => splitter.chunk_indices(text).map(ranges).collect(),
            Self::Markdown(splitter) => splitter.chunk_indices(text).map(ranges).collect(),
        }
    }
}

/// Counts code points up to a byte, from where it was asked last.
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

//! Offsets in a text in code points, as clients count them.

use std::ops::Range;

use crate::v1::Span;

/// Converts byte ranges of a text into ranges of code points. Ranges in the order of the text are
/// counted in one pass.
#[derive(Clone, Debug)]
pub struct CodePointOffsets<'a> {
    text: &'a str,
    bytes: usize,
    code_points: usize,
}

impl<'a> CodePointOffsets<'a> {
    /// Counts in `text`.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: 0,
            code_points: 0,
        }
    }

    /// The half-open range of code points.
    pub fn span(&mut self, range: &Range<usize>) -> Span {
        Span {
            start: self.code_point(range.start),
            end: self.code_point(range.end),
        }
    }

    fn code_point(&mut self, byte: usize) -> u32 {
        if byte < self.bytes {
            (self.bytes, self.code_points) = (0, 0);
        }
        self.code_points += self
            .text
            .get(self.bytes..byte)
            .map_or(0, |skipped| skipped.chars().count());
        self.bytes = byte;
        u32::try_from(self.code_points).unwrap_or(u32::MAX)
    }
}

//! Maps places in a passage's text to places in its document. Every service uses this mapping. All
//! places are half-open ranges of Unicode code points.

mod code_points;

use crate::v1::{Passage, Span, TextPiece};

pub use code_points::CodePointOffsets;

/// The place in the document of the characters at `range` of the passage's text. `None` if the
/// passage has no known place (the web), if `range` is not within its text, or if the characters
/// are not contiguous in the document.
#[must_use]
pub fn document_span(passage: &Passage, range: Span) -> Option<Span> {
    pieces_within(passage, range)
        .find(|piece| piece.in_text == Some(range))
        .and_then(|piece| piece.in_document)
}

/// The parts of `range` of the passage's text that occur in the document, in order. A passage
/// without a known place has none. A piece whose two places differ in length is ignored.
pub fn pieces_within(passage: &Passage, range: Span) -> impl Iterator<Item = TextPiece> {
    let whole = passage.span.filter(|_| passage.pieces.is_empty());
    let whole = whole.map(|in_document| TextPiece {
        in_text: Some(Span {
            start: 0,
            end: in_document.end.saturating_sub(in_document.start),
        }),
        in_document: Some(in_document),
    });
    let pieces = whole.into_iter().chain(passage.pieces.iter().copied());
    pieces.filter_map(move |piece| cut(piece, range))
}

/// The part of a piece that is within `range` of the text.
fn cut(piece: TextPiece, range: Span) -> Option<TextPiece> {
    let (in_text, in_document) = (piece.in_text?, piece.in_document?);
    let length = in_text.end.checked_sub(in_text.start)?;
    if in_document.end.checked_sub(in_document.start)? != length {
        return None;
    }
    let (start, end) = (range.start.max(in_text.start), range.end.min(in_text.end));
    (start < end).then(|| TextPiece {
        in_text: Some(Span { start, end }),
        in_document: Some(Span {
            start: in_document.start + (start - in_text.start),
            end: in_document.start + (end - in_text.start),
        }),
    })
}

#[cfg(test)]
mod tests;

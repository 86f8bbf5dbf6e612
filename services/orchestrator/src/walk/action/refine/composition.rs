//! Rebuilds a passage from its kept strips, with its place in the document.

use std::iter;

use emend_proto::{
    place,
    v1::{Passage, Span, Strip, TextPiece},
};

/// Separates strips that are not adjacent: a blank line, so that no sentence runs across the gap.
const BREAK: &str = "\n\n";

/// Reduces a passage to its kept strips, in their order. Adjacent strips keep the white space
/// between them. The span of the passage runs from its first to its last strip; the pieces are set
/// if the text is not one contiguous part of the document.
///
/// If a strip is not where its span says, or the strips are not in the order of the text, they are
/// joined without a span: no span is better than a wrong one.
pub(super) fn compose(passage: &mut Passage, kept: &[&Strip]) {
    let original = Text::new(&passage.text);
    let Some(stretches) = stretches(&original, kept) else {
        let texts: Vec<&str> = kept.iter().map(|strip| strip.text.trim()).collect();
        passage.text = texts.join(BREAK);
        (passage.span, passage.pieces) = (None, Vec::new());
        return;
    };
    let mut text = String::new();
    let mut pieces: Vec<TextPiece> = Vec::new();
    let mut length = 0;
    for (stretch, words) in stretches {
        if !text.is_empty() {
            text.push_str(BREAK);
            length += code_points(BREAK);
        }
        text.push_str(words);
        pieces.extend(place::pieces_within(passage, stretch).map(|piece| TextPiece {
            in_text: piece.in_text.map(|place| Span {
                start: place.start - stretch.start + length,
                end: place.end - stretch.start + length,
            }),
            ..piece
        }));
        length += stretch.end - stretch.start;
    }
    let first = pieces.first().and_then(|piece| piece.in_document);
    let last = pieces.last().and_then(|piece| piece.in_document);
    passage.span = first.zip(last).map(|(first, last)| Span {
        start: first.start,
        end: last.end,
    });
    let whole = Some(Span { start: 0, end: length });
    if pieces.len() == 1 && pieces.iter().all(|piece| piece.in_text == whole) {
        pieces.clear();
    }
    passage.text = text;
    passage.pieces = pieces;
}

/// The kept parts of a text with their spans, adjacent strips merged; `None` if a strip is not
/// where its span says.
fn stretches<'a>(text: &Text<'a>, kept: &[&Strip]) -> Option<Vec<(Span, &'a str)>> {
    let mut stretches: Vec<(Span, &'a str)> = Vec::with_capacity(kept.len());
    for strip in kept {
        let (place, words) = text.trimmed(strip.span?)?;
        if words != strip.text.trim() {
            return None;
        }
        let Some((before, _)) = stretches.last().copied() else {
            stretches.push((place, words));
            continue;
        };
        let between = text.at(Span {
            start: before.end,
            end: place.start,
        })?;
        if between.trim().is_empty() {
            let both = Span {
                start: before.start,
                end: place.end,
            };
            stretches.pop();
            stretches.push((both, text.at(both)?));
        } else {
            stretches.push((place, words));
        }
    }
    Some(stretches)
}

/// A text with the byte offsets of its code points.
struct Text<'a> {
    text: &'a str,
    /// The byte at which each code point begins, and the end.
    bytes: Vec<usize>,
}

impl<'a> Text<'a> {
    fn new(text: &'a str) -> Self {
        let begins = text.char_indices().map(|(byte, _)| byte);
        Self {
            text,
            bytes: begins.chain(iter::once(text.len())).collect(),
        }
    }

    /// The characters at a place; `None` where it is not within the text.
    fn at(&self, place: Span) -> Option<&'a str> {
        let byte = |at: u32| self.bytes.get(at as usize).copied();
        self.text.get(byte(place.start)?..byte(place.end)?)
    }

    /// The trimmed characters at a place, with the span of what is left.
    fn trimmed(&self, place: Span) -> Option<(Span, &'a str)> {
        let words = self.at(place)?;
        let before = code_points(words) - code_points(words.trim_start());
        let words = words.trim();
        let start = place.start + before;
        let place = Span {
            start,
            end: start + code_points(words),
        };
        Some((place, words))
    }
}

fn code_points(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;

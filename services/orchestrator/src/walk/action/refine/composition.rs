//! A passage made of its kept strips, which still knows where in the document it stands.

use std::iter;

use emend_proto::{
    place,
    v1::{Passage, Span, Strip, TextPiece},
};

/// What stands between strips that do not touch: a blank line, so that no sentence runs over what was left out.
const BREAK: &str = "\n\n";

/// Leaves of a passage the strips that are kept, in their order. Strips that touch stay as they stand in the passage,
/// with the white space between them. The passage keeps its place: one span where its text is one stretch of the
/// document, else its pieces.
///
/// Strips that do not stand where they say, or not in the order of the text, are joined without a place: none is better
/// than a wrong one.
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

/// The kept parts of a text with their places, strips that touch in one; `None` where a strip is not where it says.
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

/// A text whose code points are counted once.
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

    /// The characters at a place without white space at either end, and where those stand.
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

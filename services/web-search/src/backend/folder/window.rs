//! Pages cut into windows: the pieces that are indexed and returned.

use std::ops::Range;

/// Byte ranges of `text` of about `chars` characters, made of whole sentences where they are no longer than that. Each
/// overlaps the one before by about half, so that what belongs together stands together in one of them. Together they
/// cover all sentences.
pub(super) fn windows(text: &str, chars: usize) -> Vec<Range<usize>> {
    let mut counted = (0, 0);
    let sentences = emend_text::sentences(text)
        .into_iter()
        .flat_map(|range| pieces(text, range, chars));
    let pieces: Vec<Piece> = sentences.map(|range| Piece::new(text, range, &mut counted)).collect();
    let mut found = Vec::new();
    let mut first = 0;
    while first < pieces.len() {
        let mut end = first + 1;
        while end < pieces.len() && pieces[end].chars.end - pieces[first].chars.start <= chars {
            end += 1;
        }
        found.push(pieces[first].range.start..pieces[end - 1].range.end);
        if end == pieces.len() {
            break;
        }
        let mut next = end;
        while next > first + 1 && pieces[end - 1].chars.end - pieces[next - 1].chars.start <= chars / 2 {
            next -= 1;
        }
        first = next;
    }
    found
}

/// A sentence, or a part of one that is too long: where it stands, in bytes and in characters.
struct Piece {
    range: Range<usize>,
    chars: Range<usize>,
}

impl Piece {
    /// The piece at `range`. `counted` is a place in bytes and in characters before it, and moves to its end.
    fn new(text: &str, range: Range<usize>, counted: &mut (usize, usize)) -> Self {
        let start = counted.1 + text[counted.0..range.start].chars().count();
        let end = start + text[range.clone()].chars().count();
        *counted = (range.end, end);
        Self {
            range,
            chars: start..end,
        }
    }
}

/// Cuts a sentence of more than `chars` characters (a table, a listing, text without full stops) at white space, or
/// anywhere where there is none.
fn pieces(text: &str, sentence: Range<usize>, chars: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = sentence.start;
    while start < sentence.end {
        let rest = &text[start..sentence.end];
        let Some((limit, _)) = rest.char_indices().nth(chars) else {
            found.push(start..sentence.end);
            break;
        };
        let cut = rest[..limit]
            .rfind(char::is_whitespace)
            .filter(|at| *at >= limit / 2)
            .unwrap_or(limit);
        found.push(start..start + cut);
        start += rest.len() - rest[cut..].trim_start().len();
    }
    found
}

#[cfg(test)]
mod tests;

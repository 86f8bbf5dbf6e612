//! Splits pages into overlapping windows, the units that are indexed and returned.

use std::ops::Range;

/// Splits `text` into windows of at most `chars` characters, as byte ranges.
///
/// Windows consist of whole sentences; longer sentences are split. Adjacent windows overlap by about half, so that
/// related sentences are together in one of them. Together the windows cover all sentences.
pub(in crate::backend) fn windows(text: &str, chars: usize) -> Vec<Range<usize>> {
    let mut counted = (0, 0);
    let sentences = emend_text::sentences(text)
        .into_iter()
        .flat_map(|range| split_sentence(text, range, chars));
    let parts: Vec<SentencePart> = sentences
        .map(|range| SentencePart::new(text, range, &mut counted))
        .collect();
    let mut found = Vec::new();
    let mut first = 0;
    while first < parts.len() {
        let mut end = first + 1;
        while end < parts.len() && parts[end].chars.end - parts[first].chars.start <= chars {
            end += 1;
        }
        found.push(parts[first].range.start..parts[end - 1].range.end);
        if end == parts.len() {
            break;
        }
        let mut next = end;
        while next > first + 1 && parts[end - 1].chars.end - parts[next - 1].chars.start <= chars / 2 {
            next -= 1;
        }
        first = next;
    }
    found
}

/// A sentence, or a part of a long one, with its position in bytes and in characters.
struct SentencePart {
    range: Range<usize>,
    chars: Range<usize>,
}

impl SentencePart {
    /// The part at `range`. `counted` is an earlier position in bytes and characters; it is advanced to the end of the
    /// part.
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

/// Splits a sentence of more than `chars` characters (a table, a listing, text without full stops) at white space, or
/// at any character if there is none.
fn split_sentence(text: &str, sentence: Range<usize>, chars: usize) -> Vec<Range<usize>> {
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

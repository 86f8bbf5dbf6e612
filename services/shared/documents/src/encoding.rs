//! Bytes as text, whatever their encoding.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::Encoding;

use crate::{content, error::DocumentError};

/// How far into a page its encoding has to be declared (HTML Standard, 4.2.5.4).
const DECLARATION_BYTES: usize = 1024;
/// How much of a text its encoding is guessed from.
const GUESS_BYTES: usize = 1 << 20;
/// A text has at most one character in so many that is damaged or a control character.
const MIN_CHARS_PER_FAULT: usize = 100;
/// A text in UTF-8 has at most one damaged place for so many characters beyond ASCII.
const MIN_CHARS_PER_DAMAGE: usize = 10;

/// The text, without its byte order mark: by that mark, else as UTF-8, else in the encoding that the text declares, else
/// in the likeliest one. A text in UTF-8 may be damaged in a few places.
///
/// # Errors
/// The bytes are not text.
pub(crate) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, DocumentError> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        let (text, _) = encoding.decode_without_bom_handling(&bytes[mark..]);
        return checked(text, bytes, 0);
    }
    if bytes.contains(&0) {
        return Err(content::unreadable(bytes));
    }
    let offset = match std::str::from_utf8(bytes) {
        Ok(text) => return checked(Cow::Borrowed(text), bytes, 0),
        Err(error) => error.valid_up_to(),
    };
    if is_damaged_utf8(bytes) {
        return checked(String::from_utf8_lossy(bytes), bytes, offset);
    }
    let encoding = declared(bytes).unwrap_or_else(|| guess(bytes));
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    checked(text, bytes, offset)
}

/// Whether the beginning of a file is text in some encoding.
pub(crate) fn is_text(head: &[u8]) -> bool {
    // The last character may be cut off.
    let complete = head.len().saturating_sub(3);
    let head = match std::str::from_utf8(head) {
        Err(error) if error.valid_up_to() >= complete => &head[..error.valid_up_to()],
        _ => head,
    };
    decode(head).is_ok()
}

/// Refuses what is mostly damaged or control characters.
fn checked<'t>(text: Cow<'t, str>, bytes: &[u8], offset: usize) -> Result<Cow<'t, str>, DocumentError> {
    let is_fault = |c: char| match c {
        '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}' | '\u{85}' => false,
        c => c.is_control() || c == char::REPLACEMENT_CHARACTER,
    };
    let (mut chars, mut faults) = (0_usize, 0_usize);
    for c in text.chars() {
        chars += 1;
        faults += usize::from(is_fault(c));
    }
    if faults.saturating_mul(MIN_CHARS_PER_FAULT) <= chars {
        return Ok(text);
    }
    Err(match content::signature(bytes) {
        None if offset > 0 || !bytes.is_ascii() => DocumentError::UnknownEncoding { offset },
        _ => content::unreadable(bytes),
    })
}

fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut beyond, mut damaged) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        beyond += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        damaged += usize::from(!chunk.invalid().is_empty());
    }
    damaged.saturating_mul(MIN_CHARS_PER_DAMAGE) <= beyond
}

/// The encoding that HTML or XML declares.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes[..bytes.len().min(DECLARATION_BYTES)].to_ascii_lowercase();
    if !head.trim_ascii_start().starts_with(b"<") {
        return None;
    }
    let after = |name: &[u8]| {
        let at = head.windows(name.len()).position(|window| window == name)?;
        head.get(at + name.len()..)
    };
    let label: Vec<u8> = after(b"charset=")
        .or_else(|| after(b"encoding="))?
        .iter()
        .copied()
        .skip_while(|byte| matches!(byte, b'"' | b'\'' | b' '))
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':'))
        .collect();
    Encoding::for_label(&label).filter(|encoding| encoding.is_ascii_compatible())
}

/// The likeliest encoding of a text that is not in UTF-8.
pub(crate) fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    // The beginning may be ASCII only.
    let start = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(0);
    let start = bytes[..start]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |line| line + 1);
    let sample = &bytes[start..bytes.len().min(start + GUESS_BYTES)];
    detector.feed(sample, true);
    detector.guess(None, Utf8Detection::Deny)
}

#[cfg(test)]
mod tests;

//! JSON on lines, with blank lines where one entry ends and the next one begins.

use crate::{
    bounds::{Bounds, MAX_DEPTH},
    error::DocumentError,
};

/// A text up to this size, in bytes, with lines stays as it is: it is not split.
const MIN_BYTES: usize = 600;
/// Longest value, in bytes as written, that stays on the line of its entry.
const MAX_INLINE_BYTES: usize = 100;
/// Depth down to which entries are separated by blank lines.
const ENTRY_DEPTH: usize = 2;
/// How many characters are read between two checks of the time.
const CHECK_EVERY: usize = 1 << 16;

/// The same JSON, one value a line, short lists and objects on one line. What is not JSON stays as it is as far as it
/// can be told apart: strings, brackets and commas are all that is looked at.
pub(crate) fn entries(text: &str, bounds: Bounds<'_>) -> Result<String, DocumentError> {
    let longest = text.lines().map(str::len).max().unwrap_or(0);
    if text.len() <= MIN_BYTES && longest <= 2 * MAX_INLINE_BYTES {
        return Ok(text.to_owned());
    }
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut depth = 0_usize;
    let mut rest = text;
    let mut steps = 0_usize;
    // Whether the entry that ends now has lines of its own.
    let mut is_long = false;
    while let Some(c) = rest.chars().next() {
        steps += 1;
        if steps.is_multiple_of(CHECK_EVERY) {
            bounds.check(&out)?;
        }
        let length = match c {
            '"' => string(rest),
            '{' | '[' => match inline(rest) {
                Some(length) => {
                    let value = rest.get(..length).unwrap_or_default();
                    out.push_str(&spaced(value));
                    rest = rest.get(length..).unwrap_or_default();
                    continue;
                }
                None => {
                    depth += 1;
                    if depth > MAX_DEPTH {
                        return Err(DocumentError::TooDeep { limit: MAX_DEPTH });
                    }
                    out.push(c);
                    line(&mut out, depth);
                    is_long = false;
                    rest = rest.get(1..).unwrap_or_default();
                    continue;
                }
            },
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
                is_long = true;
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            ',' => {
                out.push(c);
                if is_long && depth <= ENTRY_DEPTH {
                    out.push('\n');
                }
                line(&mut out, depth);
                is_long = false;
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            ':' => {
                out.push_str(": ");
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            c if c.is_whitespace() => {
                let after = rest.trim_start();
                let between = &rest[..rest.len() - after.len()];
                // Between the values of JSON Lines.
                if depth == 0 && between.contains('\n') && !out.is_empty() && !after.is_empty() {
                    out.push('\n');
                }
                rest = after;
                continue;
            }
            c => c.len_utf8(),
        };
        out.push_str(rest.get(..length).unwrap_or(rest));
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(out)
}

/// Begins a line at a depth.
fn line(out: &mut String, depth: usize) {
    let trimmed = out.trim_end_matches(' ').len();
    out.truncate(trimmed);
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

/// Length in bytes of the string that `text` begins with, its marks included.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Length in bytes of the list or object that `text` begins with, where it is short and holds no other.
fn inline(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at <= MAX_INLINE_BYTES {
        match bytes.get(at)? {
            b'"' => at += string(&text[at..text.floor_char_boundary(at + MAX_INLINE_BYTES)]),
            b'{' | b'[' => return None,
            b'}' | b']' => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// A short value on one line with one space where it has white space, and after its commas and colons.
fn spaced(value: &str) -> String {
    let mut out = String::new();
    let mut rest = value;
    while let Some(c) = rest.chars().next() {
        let length = if c == '"' { string(rest) } else { c.len_utf8() };
        match c {
            c if c.is_whitespace() => {}
            ',' | ':' => {
                out.push(c);
                out.push(' ');
            }
            _ => out.push_str(rest.get(..length).unwrap_or(rest)),
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests;

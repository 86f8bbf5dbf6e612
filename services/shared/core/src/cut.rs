//! Shortens values of callers for error messages.

use std::fmt::{self, Write as _};

/// Most characters of a value in an error message: as many as the longest name has, and enough to recognise it.
const MAX_SHOWN_CHARS: usize = 64;

/// Shows a value that a caller sent: whole up to 64 characters, of a longer one those, `…` and its length in bytes.
pub fn cut(value: &str) -> Cut<'_> {
    Cut(value)
}

/// See [`cut`].
#[derive(Clone, Copy, Debug)]
pub struct Cut<'a>(&'a str);

impl fmt::Display for Cut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value) = self;
        let Some((end, _)) = value.char_indices().nth(MAX_SHOWN_CHARS) else {
            return f.write_str(value);
        };
        f.write_str(&value[..end])?;
        f.write_char('…')?;
        write!(f, " ({} bytes)", value.len())
    }
}

#[cfg(test)]
mod tests;

//! The bytes of tokens, and incremental UTF-8 decoding.

/// Decodes a piece of a byte-level vocabulary, where each character stands for one byte (GPT-2): printable bytes for
/// themselves, the others as the characters from U+0100 on.
pub(super) fn from_byte_level(piece: &str) -> Box<[u8]> {
    let printable = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    let unprintable = |index: u32| (0..=u8::MAX).filter(|byte| !printable(*byte)).nth(index as usize);
    let byte = |character: char| match u8::try_from(character) {
        Ok(byte) if printable(byte) => Some(byte),
        _ => unprintable(u32::from(character).checked_sub(0x100)?),
    };
    match piece.chars().map(byte).collect() {
        Some(bytes) => bytes,
        // Not in this encoding: use the text as it is.
        None => piece.as_bytes().into(),
    }
}

/// Decodes a byte piece such as `<0x0A>`. Empty if it is malformed.
pub(super) fn from_hex(piece: &str) -> Box<[u8]> {
    let digits = piece.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
    let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
    byte.into_iter().collect()
}

/// Decodes UTF-8 incrementally: a token can end in the middle of a character.
#[derive(Default)]
pub(in crate::chat::local) struct Utf8Decoder {
    pending: Vec<u8>,
}

impl Utf8Decoder {
    /// Appends `bytes` and returns the complete characters. Invalid bytes become U+FFFD.
    pub(in crate::chat::local) fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let complete = match self.pending.utf8_chunks().last() {
            // An incomplete character: at most three bytes, invalid only because bytes are missing.
            Some(chunk) if is_incomplete(chunk.invalid()) => self.pending.len() - chunk.invalid().len(),
            _ => self.pending.len(),
        };
        let rest = self.pending.split_off(complete);
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending = rest;
        text
    }

    /// Returns the remaining bytes as text. An incomplete character becomes U+FFFD.
    pub(in crate::chat::local) fn finish(self) -> String {
        String::from_utf8_lossy(&self.pending).into_owned()
    }
}

fn is_incomplete(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(error) if error.error_len().is_none())
}

#[cfg(test)]
mod tests;

//! The bytes that tokens stand for, and text made of them as they come.

/// The bytes of a piece in which every byte is written as one character, as GPT-2 does it: those that can be seen as
/// themselves, the others as the characters from U+0100 on.
pub(super) fn of_byte_level(piece: &str) -> Box<[u8]> {
    let seen = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    let unseen = |place: u32| (0..=u8::MAX).filter(|byte| !seen(*byte)).nth(place as usize);
    let byte = |character: char| match u8::try_from(character) {
        Ok(byte) if seen(byte) => Some(byte),
        _ => unseen(u32::from(character).checked_sub(0x100)?),
    };
    match piece.chars().map(byte).collect() {
        Some(bytes) => bytes,
        // Not written that way: the text itself.
        None => piece.as_bytes().into(),
    }
}

/// The byte of a piece such as `<0x0A>`; none where it is none.
pub(super) fn of_hex(piece: &str) -> Box<[u8]> {
    let digits = piece.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
    let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
    byte.into_iter().collect()
}

/// Text out of bytes that may end in the middle of a character.
#[derive(Default)]
pub(in crate::chat::local) struct Text {
    pending: Vec<u8>,
}

impl Text {
    /// Takes `bytes` and gives what is text by now. What can never become text is U+FFFD.
    pub(in crate::chat::local) fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let whole = match self.pending.utf8_chunks().last() {
            // A character that has begun and may yet end: at most three bytes, and wrong only for want of more.
            Some(chunk) if could_go_on(chunk.invalid()) => self.pending.len() - chunk.invalid().len(),
            _ => self.pending.len(),
        };
        let rest = self.pending.split_off(whole);
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending = rest;
        text
    }

    /// What is left at the end.
    pub(in crate::chat::local) fn finish(self) -> String {
        String::from_utf8_lossy(&self.pending).into_owned()
    }
}

fn could_go_on(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(error) if error.error_len().is_none())
}

#[cfg(test)]
mod tests;

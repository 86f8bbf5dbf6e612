//! The length of a reply, counted here: a server may go on for ever.

/// Most bytes of text for each token of `max_tokens`. Prose has about 4 bytes a token; the tokens of few vocabularies are
/// longer than 16, and those are runs of spaces. So no reply that a server has kept to its limit is cut by this one.
const MAX_TOKEN_BYTES: usize = 32;

/// The text that a reply may still have.
#[derive(Debug)]
pub(super) struct Room(usize);

impl Room {
    /// Room for a reply of this many tokens; any length without a limit.
    pub(super) fn of(max_tokens: Option<u32>) -> Self {
        let tokens = max_tokens.and_then(|tokens| usize::try_from(tokens).ok());
        Self(tokens.map_or(usize::MAX, |tokens| tokens.saturating_mul(MAX_TOKEN_BYTES)))
    }

    /// Takes what fits of a piece of text, whole characters. `false` when that is not all of it.
    pub(super) fn take(&mut self, text: &mut String) -> bool {
        let fits = text.len() <= self.0;
        text.truncate(text.floor_char_boundary(self.0));
        self.0 -= text.len();
        fits
    }
}

#[cfg(test)]
mod tests;

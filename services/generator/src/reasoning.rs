//! The reasoning that some models write before their answer, between `<think>` and `</think>`.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Takes the reasoning at the start of a text that comes in pieces out of it. It is no answer, and it must not be
/// streamed as one.
#[derive(Debug)]
pub(crate) enum Reasoning {
    /// Not yet enough text to see whether it starts with reasoning.
    Start(String),
    /// Within it; what could be the beginning of its end.
    Inside(String),
    /// Past it, or there was none.
    Past,
}

impl Reasoning {
    pub(crate) fn new() -> Self {
        Self::Start(String::new())
    }

    /// Takes the next piece and returns what belongs to the answer.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        match self {
            Self::Past => piece.to_owned(),
            Self::Start(held) => {
                held.push_str(piece);
                let begun = held.trim_start();
                if begun.len() < OPEN.len() && OPEN.starts_with(begun) {
                    return String::new();
                }
                let held = std::mem::take(held);
                match held.trim_start().strip_prefix(OPEN) {
                    Some(inside) => {
                        *self = Self::Inside(String::new());
                        self.push(inside)
                    }
                    None => {
                        *self = Self::Past;
                        held
                    }
                }
            }
            Self::Inside(held) => {
                held.push_str(piece);
                if let Some(at) = held.find(CLOSE) {
                    let answer = held.split_off(at + CLOSE.len());
                    *self = Self::Past;
                    return answer;
                }
                // Only the beginning of the closing tag has to be remembered.
                let from = held.len().saturating_sub(CLOSE.len());
                let from = (from..=held.len())
                    .find(|at| held.is_char_boundary(*at))
                    .unwrap_or(held.len());
                *held = held.split_off(from);
                String::new()
            }
        }
    }

    /// Whether it cannot be told yet whether the text starts with reasoning.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Start(_))
    }

    /// What was held back when the text ended before it could be told apart.
    pub(crate) fn finish(self) -> String {
        match self {
            Self::Start(held) => held,
            Self::Inside(_) | Self::Past => String::new(),
        }
    }
}

#[cfg(test)]
mod tests;

//! Removes the reasoning that some models write before their answer, between `<think>` and `</think>`.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Removes the reasoning at the start of a streamed text. It is not part of the answer and must not be streamed.
#[derive(Debug)]
pub(crate) enum Reasoning {
    /// Too little text to decide whether it starts with reasoning; so many bytes of it are white space at its start.
    Start { held: String, blank: usize },
    /// Inside the reasoning; holds a possible prefix of the closing tag.
    Inside(String),
    /// After the reasoning, or there is none.
    Past,
}

impl Reasoning {
    pub(crate) fn new() -> Self {
        Self::Start {
            held: String::new(),
            blank: 0,
        }
    }

    /// Processes the next chunk and returns the text of the answer.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        match self {
            Self::Past => piece.to_owned(),
            Self::Start { held, blank } => {
                held.push_str(piece);
                let begun = held.get(*blank..).unwrap_or_default();
                *blank += begun.len() - begun.trim_start().len();
                let begun = held.get(*blank..).unwrap_or_default();
                if begun.len() < OPEN.len() && OPEN.starts_with(begun) {
                    return String::new();
                }
                let (held, blank) = (std::mem::take(held), *blank);
                match held.get(blank..).unwrap_or_default().strip_prefix(OPEN) {
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
                // Keep only a possible prefix of the closing tag.
                let from = held.len().saturating_sub(CLOSE.len());
                let from = (from..=held.len())
                    .find(|at| held.is_char_boundary(*at))
                    .unwrap_or(held.len());
                *held = held.split_off(from);
                String::new()
            }
        }
    }

    /// Whether it is still undecided if the text starts with reasoning.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Start { .. })
    }

    /// Ends the text. Returns the text held back if it was still undecided.
    pub(crate) fn finish(self) -> String {
        match self {
            Self::Start { held, .. } => held,
            Self::Inside(_) | Self::Past => String::new(),
        }
    }
}

#[cfg(test)]
mod tests;

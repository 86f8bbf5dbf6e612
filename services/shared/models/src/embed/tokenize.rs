//! From text to the token ids that an encoder takes.

use std::path::Path;

use tokenizers::{Model, Tokenizer, models::unigram::Unigram};
use unicode_normalization::UnicodeNormalization;

use super::ModelError;

/// The mark that stands for a space in a sentencepiece vocabulary.
const SPACE: char = '\u{2581}';

/// Text to token ids, without marks at the beginning and the end.
pub(super) enum TextTokenizer {
    /// As a `tokenizer.json` says.
    File(Box<Tokenizer>),
    /// Unigram over normalised words (Kudo 2018), as XLM-RoBERTa has it.
    Unigram {
        /// What becomes of a character, sorted by character; one that is not listed stays.
        normalizer: Vec<(char, Box<str>)>,
        /// The pieces and their scores.
        model: Box<Unigram>,
    },
}

impl TextTokenizer {
    /// Reads a `tokenizer.json`; whatever it says about cutting and padding is left out.
    pub(super) fn from_file(path: &Path) -> Result<Self, ModelError> {
        let corrupt = |error: tokenizers::Error| ModelError::Corrupt {
            path: path.to_owned(),
            detail: error.to_string(),
        };
        let mut tokenizer = Tokenizer::from_file(path).map_err(corrupt)?;
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(corrupt)?;
        Ok(Self::File(Box::new(tokenizer)))
    }

    /// The id of a piece such as `[CLS]`.
    pub(super) fn id(&self, piece: &str) -> Option<u32> {
        match self {
            Self::File(tokenizer) => tokenizer.token_to_id(piece),
            Self::Unigram { model, .. } => model.token_to_id(piece),
        }
    }

    /// The piece with an id, as the vocabulary writes it.
    pub(super) fn piece(&self, id: u32) -> Option<String> {
        match self {
            Self::File(tokenizer) => tokenizer.id_to_token(id),
            Self::Unigram { model, .. } => model.id_to_token(id),
        }
    }

    /// The ids of the pieces of `text`.
    ///
    /// # Errors
    /// The tokenizer's own words when it fails.
    pub(super) fn ids(&self, text: &str) -> Result<Vec<u32>, String> {
        match self {
            Self::File(tokenizer) => match tokenizer.encode_fast(text, false) {
                Ok(encoding) => Ok(encoding.get_ids().to_vec()),
                Err(error) => Err(error.to_string()),
            },
            Self::Unigram { normalizer, model } => {
                let mut ids = Vec::with_capacity(text.len() / 3);
                for word in marked_words(normalizer, text) {
                    // No piece has a mark inside, so a word is never split differently for the words around it.
                    let tokens = model.tokenize(&word).map_err(|error| error.to_string())?;
                    ids.extend(tokens.into_iter().map(|token| token.id));
                }
                Ok(ids)
            }
        }
    }
}

/// The words of the normalised text, each with the mark of a space before it.
fn marked_words(normalizer: &[(char, Box<str>)], text: &str) -> Vec<String> {
    let mut normal = String::with_capacity(text.len() + text.len() / 8);
    // The table maps one character at a time: what is written as letter and accent is put together first.
    for character in text.nfc() {
        match normalizer.binary_search_by_key(&character, |(from, _)| *from) {
            Ok(place) => normal.push_str(normalizer.get(place).map_or("", |(_, to)| to)),
            Err(_) => normal.push(character),
        }
    }
    normal
        .split([' ', SPACE])
        .filter(|word| !word.is_empty())
        .map(|word| format!("{SPACE}{word}"))
        .collect()
}

#[cfg(test)]
mod tests;

//! The tokenizers of encoders.

use std::path::Path;

use tokenizers::{Model, Tokenizer, models::unigram::Unigram};
use unicode_normalization::UnicodeNormalization;

use super::ModelError;

/// The character for a space in a SentencePiece vocabulary.
const SPACE: char = '\u{2581}';

/// A tokenizer. It adds no special tokens.
pub(super) enum TextTokenizer {
    /// A `tokenizer.json`.
    File(Box<Tokenizer>),
    /// A unigram model over normalised words (Kudo 2018), as in XLM-RoBERTa.
    Unigram {
        /// Character replacements, sorted by character. Characters that are not listed are unchanged.
        normalizer: Vec<(char, Box<str>)>,
        /// The pieces and their scores.
        model: Box<Unigram>,
    },
}

impl TextTokenizer {
    /// Reads a `tokenizer.json`. Its truncation and padding are disabled.
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

    /// The id of a token such as `[CLS]`.
    pub(super) fn id(&self, piece: &str) -> Option<u32> {
        match self {
            Self::File(tokenizer) => tokenizer.token_to_id(piece),
            Self::Unigram { model, .. } => model.token_to_id(piece),
        }
    }

    /// The text of a token id in the vocabulary.
    pub(super) fn piece(&self, id: u32) -> Option<String> {
        match self {
            Self::File(tokenizer) => tokenizer.id_to_token(id),
            Self::Unigram { model, .. } => model.id_to_token(id),
        }
    }

    /// Tokenizes `text`.
    ///
    /// # Errors
    /// The message of the tokenizer if it fails.
    pub(super) fn ids(&self, text: &str) -> Result<Vec<u32>, String> {
        match self {
            Self::File(tokenizer) => match tokenizer.encode_fast(text, false) {
                Ok(encoding) => Ok(encoding.get_ids().to_vec()),
                Err(error) => Err(error.to_string()),
            },
            Self::Unigram { normalizer, model } => {
                let mut ids = Vec::with_capacity(text.len() / 3);
                for word in marked_words(normalizer, text) {
                    // No piece spans a space, so each word can be tokenized on its own.
                    let tokens = model.tokenize(&word).map_err(|error| error.to_string())?;
                    ids.extend(tokens.into_iter().map(|token| token.id));
                }
                Ok(ids)
            }
        }
    }
}

/// Splits the normalised text into words, each prefixed with the [`SPACE`] character.
fn marked_words(normalizer: &[(char, Box<str>)], text: &str) -> Vec<String> {
    let mut normal = String::with_capacity(text.len() + text.len() / 8);
    // The table maps single characters, so combining sequences are composed first.
    for character in text.nfc() {
        match normalizer.binary_search_by_key(&character, |(from, _)| *from) {
            Ok(index) => normal.push_str(normalizer.get(index).map_or("", |(_, to)| to)),
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

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
mod tests {
    use super::*;

    fn unigram() -> TextTokenizer {
        let pieces = [
            ("<unk>", 0.0),
            ("▁", -4.0),
            ("▁sea", -2.0),
            ("gull", -3.0),
            ("s", -2.5),
            ("▁se", -3.0),
            ("agulls", -9.0),
            ("é", -3.0),
        ];
        let pieces = pieces
            .iter()
            .map(|(piece, score)| ((*piece).to_owned(), *score))
            .collect();
        let mut normalizer: Vec<(char, Box<str>)> = vec![
            ('\n', " ".into()),
            ('\u{1}', "".into()),
            ('Ｓ', "s".into()),
            ('…', " s".into()),
        ];
        normalizer.sort();
        TextTokenizer::Unigram {
            normalizer,
            model: Box::new(Unigram::from(pieces, Some(0), false).unwrap()),
        }
    }

    #[test]
    fn the_likeliest_pieces_win() {
        assert_eq!(unigram().ids("seagulls").unwrap(), [2, 3, 4]);
    }

    #[test]
    fn spaces_are_marks_and_runs_of_them_are_one() {
        assert_eq!(unigram().ids("  sea \n\u{1} sea ").unwrap(), [2, 2]);
        assert_eq!(unigram().ids(" \n ").unwrap(), [0_u32; 0]);
    }

    #[test]
    fn characters_go_through_the_normaliser() {
        assert_eq!(unigram().ids("Ｓ…").unwrap(), [1, 4, 1, 4]);
        assert_eq!(unigram().ids("e\u{301}").unwrap(), [1, 7]);
    }

    #[test]
    fn characters_without_a_piece_are_one_unknown() {
        assert_eq!(unigram().ids("sea龜鶴").unwrap(), [2, 0]);
    }
}

//! all-MiniLM-L6-v2 (Wang et al. 2020; Reimers and Gurevych 2019): English, six layers.

use super::{
    ModelError,
    local::{Encoder, Marks, required},
    safetensors,
    tokenize::TextTokenizer,
};
use crate::fetch::ModelFiles;

pub(super) const ID: &str = "all-MiniLM-L6-v2";
/// The model has positions for more, but was trained on no longer texts.
const MAX_TOKENS: usize = 256;

/// Reads `model.safetensors` and `tokenizer.json`.
pub(super) fn load(files: &ModelFiles) -> Result<Encoder, ModelError> {
    let weights = required(files, "model.safetensors")?;
    let path = required(files, "tokenizer.json")?;
    let bert = safetensors::read(
        &weights,
        &safetensors::Shape {
            heads: 12,
            epsilon: 1e-12,
            skipped_positions: 0,
        },
    )?;
    let tokenizer = TextTokenizer::from_file(&path)?;
    let mark = |piece: &str| {
        tokenizer.id(piece).ok_or_else(|| ModelError::Corrupt {
            path: path.clone(),
            detail: format!("it has no piece {piece:?}"),
        })
    };
    let marks = Marks {
        first: mark("[CLS]")?,
        last: mark("[SEP]")?,
    };
    Ok(Encoder {
        id: ID,
        bert,
        tokenizer,
        marks,
        prefix: |_| "",
        max_tokens: MAX_TOKENS,
    })
}

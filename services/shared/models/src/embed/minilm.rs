//! all-MiniLM-L6-v2 (Wang et al. 2020; Reimers and Gurevych 2019): English only, six layers.

use super::{
    ModelError,
    local::{Encoder, SpecialTokens, required},
    safetensors,
    tokenize::TextTokenizer,
};
use crate::fetch::ModelFiles;

pub(super) const ID: &str = "all-MiniLM-L6-v2";
/// The position table has more rows, but the model was not trained on longer texts.
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
    let token_id = |piece: &str| {
        tokenizer.id(piece).ok_or_else(|| ModelError::Corrupt {
            path: path.clone(),
            detail: format!("the vocabulary has no token {piece:?}"),
        })
    };
    let special_tokens = SpecialTokens {
        first: token_id("[CLS]")?,
        last: token_id("[SEP]")?,
    };
    Ok(Encoder {
        id: ID,
        bert,
        tokenizer,
        special_tokens,
        space: ID,
        prefix: |_| "",
        max_tokens: MAX_TOKENS,
        adapter: None,
    })
}

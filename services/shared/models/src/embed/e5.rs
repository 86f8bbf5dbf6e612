//! multilingual-e5-small (Wang et al. 2024), from one of two forms: a single file of 4-bit weights, or the files of the
//! Hugging Face Hub.

use std::path::Path;

use candle_core::Result as CandleResult;
use tokenizers::models::unigram::Unigram;

use super::{
    Input, ModelError,
    adapter::Adapter,
    bert::{Bert, Layer},
    binary::{Malformed, Reader, Tensors},
    choice::E5_ADAPTED_SPACE,
    kernels::LayerNorm,
    linear::Linear,
    local::{Encoder, SpecialTokens, required},
    q4::Q4Table,
    safetensors,
    tokenize::TextTokenizer,
};
use crate::fetch::ModelFiles;

pub(super) const ID: &str = "multilingual-e5-small";
/// The prefixes that the model was trained with.
const PREFIX: fn(Input) -> &'static str = |kind| match kind {
    Input::Query | Input::Claim | Input::Question => "query: ",
    Input::Passage | Input::Evidence | Input::Answer => "passage: ",
};
const MAGIC: &[u8; 8] = b"E5S1\x01\0\0\0";
const MAX_TOKENS: usize = 512;
/// The layers and the hidden size that the adapter is for.
const SIZE: (usize, usize) = (12, 384);
/// The adapter to questions and the sentences that answer them; the folder's README says how it was fitted.
const ADAPTER: &[u8] = include_bytes!("../../adapter/multilingual-e5-small.safetensors");

/// Loads the model from the form that `files` contain.
pub(super) fn load(files: &ModelFiles) -> Result<Encoder, ModelError> {
    let (bert, tokenizer, special_tokens) = match files.path("e5-small-q4.bin") {
        Some(path) => {
            let bytes = std::fs::read(&path).map_err(|error| corrupt(&path, error))?;
            parse(&bytes).map_err(|error| corrupt(&path, error))?
        }
        None => from_hub(files)?,
    };
    let adapter = adapter(&bert)?;
    Ok(Encoder {
        id: ID,
        space: if adapter.is_some() { E5_ADAPTED_SPACE } else { ID },
        bert,
        tokenizer,
        special_tokens,
        prefix: PREFIX,
        max_tokens: MAX_TOKENS,
        adapter,
    })
}

/// The adapter to answers; `None` for a model of another size.
fn adapter(bert: &Bert) -> Result<Option<Adapter>, ModelError> {
    if (bert.layers.len(), bert.hidden()) != SIZE {
        return Ok(None);
    }
    let adapter = Adapter::read(bert, ADAPTER);
    adapter
        .map(Some)
        .map_err(|error| corrupt(Path::new("the built-in adapter"), error))
}

fn corrupt(path: &Path, error: impl std::fmt::Display) -> ModelError {
    ModelError::Corrupt {
        path: path.to_owned(),
        detail: error.to_string(),
    }
}

fn from_hub(files: &ModelFiles) -> Result<(Bert, TextTokenizer, SpecialTokens), ModelError> {
    let weights = required(files, "model.safetensors")?;
    let shape = safetensors::Shape {
        heads: 12,
        epsilon: 1e-12,
        skipped_positions: 0,
    };
    let bert = safetensors::read(&weights, &shape)?;
    let path = required(files, "tokenizer.json")?;
    let tokenizer = TextTokenizer::from_file(&path)?;
    let token_id = |piece: &str| {
        tokenizer
            .id(piece)
            .ok_or_else(|| corrupt(&path, format!("the vocabulary has no token {piece:?}")))
    };
    let special_tokens = SpecialTokens {
        first: token_id("<s>")?,
        last: token_id("</s>")?,
    };
    Ok((bert, tokenizer, special_tokens))
}

/// The header of a 4-bit file.
struct Header {
    hidden: usize,
    layers: usize,
    heads: usize,
    inner: usize,
    vocabulary: usize,
    positions: usize,
    types: usize,
    epsilon: f32,
}

impl Header {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        if reader.take(MAGIC.len(), "magic")? != MAGIC {
            return Err(Malformed("wrong magic number: not a 4-bit e5 model".to_owned()));
        }
        let header = Self {
            hidden: reader.size("hidden", 32..=4096)?,
            layers: reader.size("layers", 1..=64)?,
            heads: reader.size("heads", 1..=64)?,
            inner: reader.size("ff", 32..=16384)?,
            vocabulary: reader.size("vocab", 8..=2_000_000)?,
            positions: reader.size("max_positions", 8..=8192)?,
            types: reader.size("type_vocab", 1..=16)?,
            epsilon: reader.f32("eps")?,
        };
        reader.take(4, "unused")?;
        if !header.hidden.is_multiple_of(header.heads)
            || !header.hidden.is_multiple_of(32)
            || !header.inner.is_multiple_of(32)
        {
            return Err(Malformed(format!(
                "inconsistent sizes: hidden {}, heads {}, ff {}",
                header.hidden, header.heads, header.inner
            )));
        }
        if !(0.0..=0.1).contains(&header.epsilon) {
            return Err(Malformed(format!("eps is {}, expected 0 to 0.1", header.epsilon)));
        }
        Ok(header)
    }
}

fn parse(bytes: &[u8]) -> Result<(Bert, TextTokenizer, SpecialTokens), Malformed> {
    let mut reader = Reader::new(bytes);
    let header = Header::read(&mut reader)?;
    let (tokenizer, special_tokens) = tokenizer(&mut reader, &header)?;
    let tensors = Tensors::read(&mut reader)?;
    let bert = bert(&header, &tensors)?;
    Ok((bert, tokenizer, special_tokens))
}

fn tokenizer(reader: &mut Reader<'_>, header: &Header) -> Result<(TextTokenizer, SpecialTokens), Malformed> {
    let pieces = reader.size("pieces", 4..=header.vocabulary)?;
    let [first, last, _pad, unknown] = ["bos", "eos", "pad", "unk"].map(|name| reader.size(name, 0..=pieces - 1));
    let (first, last, unknown) = (first?, last?, unknown?);
    let blob_bytes = reader.u64("bytes of the pieces")?;
    let offsets = reader.u32s(pieces + 1, "offsets of the pieces")?;
    let scores = reader.f32s(pieces, "scores of the pieces")?;
    let blob = reader.take(usize::try_from(blob_bytes).unwrap_or(usize::MAX), "pieces")?;
    let mut vocabulary = Vec::with_capacity(pieces);
    for (index, (bounds, score)) in offsets.windows(2).zip(scores).enumerate() {
        let &[from, to] = bounds else { continue };
        let piece = blob
            .get(from as usize..to as usize)
            .and_then(|piece| std::str::from_utf8(piece).ok())
            .filter(|piece| !piece.is_empty())
            .ok_or_else(|| Malformed(format!("piece {index} is empty, out of bounds or not UTF-8")))?;
        if !score.is_finite() {
            return Err(Malformed(format!(
                "piece {index} has the score {score}, which is not finite"
            )));
        }
        vocabulary.push((piece.to_owned(), f64::from(score)));
    }
    let normalizer = normalizer(reader)?;
    // Special tokens such as `<s>` have the best score, 0, but must not be matched in a text. They are renamed to
    // pieces with a NUL, which never match because the normaliser removes NUL from texts.
    for (index, (piece, score)) in vocabulary.iter_mut().enumerate() {
        if *score == 0.0 {
            *piece = format!("\0{index}");
            *score = -1.0;
        }
    }
    let model = Unigram::from(vocabulary, Some(unknown), false).map_err(|error| Malformed(error.to_string()))?;
    let id = |id: usize| u32::try_from(id).map_err(|error| Malformed(error.to_string()));
    Ok((
        TextTokenizer::Unigram {
            normalizer,
            model: Box::new(model),
        },
        SpecialTokens {
            first: id(first)?,
            last: id(last)?,
        },
    ))
}

fn normalizer(reader: &mut Reader<'_>) -> Result<Vec<(char, Box<str>)>, Malformed> {
    let entries = reader.u32("entries of the normaliser")?;
    let bytes = reader.u32("bytes of the normaliser")?;
    let mut table = Reader::new(reader.take(bytes as usize, "normaliser")?);
    let character = |code: u32| {
        char::from_u32(code).ok_or_else(|| Malformed(format!("the normaliser has the invalid code point {code:#x}")))
    };
    // An entry has at least five bytes. This bounds the allocation by the file size if the count is wrong.
    let mut normalizer: Vec<(char, Box<str>)> = Vec::with_capacity((entries as usize).min(bytes as usize / 5) + 1);
    for _ in 0..entries {
        let from = character(table.u32("code point")?)?;
        let length = table.u8("length of an entry")?;
        let to = (0..length)
            .map(|_| table.u32("code point").and_then(character))
            .collect::<Result<String, _>>()?;
        normalizer.push((from, to.into()));
    }
    normalizer.push(('\0', "".into()));
    normalizer.sort();
    normalizer.dedup_by_key(|(from, _)| *from);
    Ok(normalizer)
}

fn bert(header: &Header, tensors: &Tensors<'_>) -> Result<Bert, Malformed> {
    let hidden = header.hidden;
    let norm = |name: &str| -> Result<LayerNorm, Malformed> {
        Ok(LayerNorm {
            weight: tensors.f32s(&format!("{name}.w"), hidden)?,
            bias: tensors.f32s(&format!("{name}.b"), hidden)?,
            epsilon: header.epsilon,
        })
    };
    let linear = |names: &[String], inputs: usize, outputs: usize| -> Result<Linear, Malformed> {
        let (mut weight, mut bias) = (Vec::new(), Vec::new());
        for name in names {
            weight.extend(tensors.q4s(&format!("{name}.w"), inputs * outputs)?);
            bias.extend(tensors.f32s(&format!("{name}.b"), outputs)?);
        }
        built(Linear::new(&weight, bias))
    };
    let mut layers = Vec::with_capacity(header.layers);
    for index in 0..header.layers {
        let name = |part: &str| format!("l{index}.{part}");
        layers.push(Layer {
            qkv: linear(&[name("q"), name("k"), name("v")], hidden, hidden)?,
            attention_output: linear(&[name("ao")], hidden, hidden)?,
            attention_norm: norm(&name("aln"))?,
            feed_forward_in: linear(&[name("fi")], hidden, header.inner)?,
            feed_forward_out: linear(&[name("fo")], header.inner, hidden)?,
            output_norm: norm(&name("oln"))?,
        });
    }
    let blocks = tensors.q4_blocks("emb.word", header.vocabulary * hidden)?.to_vec();
    let token_embeddings = Q4Table::new(blocks, hidden)
        .ok_or_else(|| Malformed(format!("hidden is {hidden}, which is not a multiple of the block size")))?;
    let types = tensors.f32s("emb.type", header.types * hidden)?;
    let mut positions = tensors.f32s("emb.pos", header.positions * hidden)?;
    // RoBERTa position ids start at 2, so its table has two unused rows.
    if header.positions == 514 {
        positions.drain(..2 * hidden);
    }
    for row in positions.chunks_exact_mut(hidden) {
        for (position, kind) in row.iter_mut().zip(&types) {
            *position += kind;
        }
    }
    Ok(Bert {
        heads: header.heads,
        token_embeddings: Box::new(token_embeddings),
        positions,
        embedding_norm: norm("emb.ln")?,
        layers,
    })
}

fn built(linear: CandleResult<Linear>) -> Result<Linear, Malformed> {
    linear.map_err(|error| Malformed(error.to_string()))
}

#[cfg(test)]
mod tests;

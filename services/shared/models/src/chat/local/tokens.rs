//! The tokenizer of a GGUF file.

mod bytes;
mod merges;

use std::collections::HashMap;

use tokenizers::models::bpe::{BPE, Merges, Vocab};
use tokenizers::normalizers::{NFC, NormalizerWrapper, Prepend, Replace, Sequence as Normalizers};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{AddedToken, PreTokenizerWrapper, SplitDelimiterBehavior, Tokenizer};

use super::LoadError;
use super::gguf::{Gguf, to_u64};

pub(super) use bytes::Utf8Decoder;

/// The character for a space in a SentencePiece vocabulary.
const SPACE: &str = "\u{2581}";

/// Pre-tokenizer pattern of Llama 3: contractions, words, groups of up to three digits, punctuation and white space.
const LLAMA3: &str = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// Pre-tokenizer pattern of Qwen 2: as Llama 3, but with single digits.
const QWEN2: &str = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// End-of-turn tokens that some files do not declare as such.
const END_TOKENS: [&str; 8] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<end_of_turn>",
    "<|end|>",
    "</s>",
    "<eos>",
];

/// The type of a token (`tokenizer.ggml.token_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Normal,
    /// Marks the structure of a conversation and has no text.
    Control,
    /// User-defined: its text is always tokenized as this one token.
    UserDefined,
    /// A single byte, such as `<0x0A>`.
    Byte,
    /// Unknown or unused token.
    Unused,
}

impl Kind {
    fn from_code(code: u64) -> Self {
        match code {
            2 | 5 => Self::Unused,
            3 => Self::Control,
            4 => Self::UserDefined,
            6 => Self::Byte,
            _ => Self::Normal,
        }
    }
}

/// The tokenizer and vocabulary of a model.
pub(super) struct Tokens {
    tokenizer: Tokenizer,
    /// The bytes of each token, by id. Empty for tokens without text.
    bytes: Vec<Box<[u8]>>,
    /// The names of the control tokens, by id.
    control: HashMap<u32, String>,
    bos: Option<u32>,
    add_bos: bool,
    /// The tokens that end a reply.
    ends: Vec<u32>,
}

impl Tokens {
    /// Reads the tokenizer of `gguf`.
    pub(super) fn read(gguf: &Gguf) -> Result<Self, LoadError> {
        let pieces = gguf.texts("tokenizer.ggml.tokens")?;
        let mut kinds = gguf.numbers("tokenizer.ggml.token_type", |value| to_u64(value).map(Kind::from_code))?;
        kinds.resize(pieces.len(), Kind::Normal);
        let model = gguf.text("tokenizer.ggml.model")?;
        let (tokenizer, is_bytes) = match model {
            "gpt2" => (byte_level(gguf, &pieces)?, true),
            "llama" => (sentencepiece(gguf, &pieces, &kinds)?, false),
            other => {
                return Err(LoadError::Tokenizer {
                    path: gguf.path().to_owned(),
                    found: other.to_owned(),
                    known: "gpt2, llama".to_owned(),
                });
            }
        };
        let id = |name: &str| {
            let id = gguf.number(&format!("tokenizer.ggml.{name}_token_id"))?;
            u32::try_from(id).ok().filter(|id| (*id as usize) < pieces.len())
        };
        let mut tokens = Self {
            tokenizer,
            bytes: Vec::with_capacity(pieces.len()),
            control: HashMap::new(),
            bos: id("bos"),
            add_bos: gguf.flag("tokenizer.ggml.add_bos_token").unwrap_or(!is_bytes),
            ends: ["eos", "eot", "eom"].into_iter().filter_map(id).collect(),
        };
        let mut added = Vec::new();
        for (index, (piece, kind)) in (0..).zip(pieces.iter().zip(&kinds)) {
            let named = Some(index) == tokens.bos || tokens.ends.contains(&index);
            let kind = if named { Kind::Control } else { *kind };
            tokens.bytes.push(match kind {
                Kind::Normal if is_bytes => bytes::from_byte_level(piece),
                Kind::Normal | Kind::UserDefined => piece.replace(SPACE, " ").into_bytes().into(),
                Kind::Byte => bytes::from_hex(piece),
                Kind::Control | Kind::Unused => Box::default(),
            });
            match kind {
                Kind::Control => {
                    added.push(AddedToken::from(*piece, true).normalized(false));
                    if END_TOKENS.contains(piece) && !tokens.ends.contains(&index) {
                        tokens.ends.push(index);
                    }
                    tokens.control.insert(index, (*piece).to_owned());
                }
                Kind::UserDefined => added.push(AddedToken::from(*piece, false).normalized(false)),
                Kind::Normal | Kind::Byte | Kind::Unused => {}
            }
        }
        // They are already in the vocabulary. This makes the tokenizer match them before pre-tokenization.
        let added = tokens.tokenizer.add_tokens(added);
        added.map_err(|error| gguf.corrupt(format!("invalid tokens: {error}")))?;
        if tokens.ends.is_empty() {
            return Err(gguf.corrupt("the vocabulary has no end-of-sequence token"));
        }
        Ok(tokens)
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Tokenizes a rendered conversation, including control tokens. Prepends BOS if the file asks for it.
    ///
    /// # Errors
    /// The message of the tokenizer if it fails.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>, String> {
        let encoding = self.tokenizer.encode_fast(text, false);
        let mut ids = encoding.map_err(|error| error.to_string())?.get_ids().to_vec();
        if let Some(bos) = self.bos.filter(|bos| self.add_bos && ids.first() != Some(bos)) {
            ids.insert(0, bos);
        }
        Ok(ids)
    }

    /// Breaks up control tokens in `text`, so that untrusted text cannot end a turn or begin another (prompt
    /// injection).
    pub(super) fn escape_control_tokens(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for control in self.control.values() {
            let Some(first) = control.chars().next().filter(|_| text.contains(control.as_str())) else {
                continue;
            };
            let (head, tail) = control.split_at(first.len_utf8());
            text = text.replace(control.as_str(), &format!("{head} {tail}"));
        }
        text
    }

    /// The bytes of a token. Empty if it has no text.
    pub(super) fn bytes(&self, token: u32) -> &[u8] {
        self.bytes.get(token as usize).map_or(&[], |bytes| bytes)
    }

    /// The printable name of a token: its text, with U+FFFD for an incomplete character.
    pub(super) fn name(&self, token: u32) -> String {
        match self.control.get(&token) {
            Some(name) => name.clone(),
            None => String::from_utf8_lossy(self.bytes(token)).into_owned(),
        }
    }

    /// The name of the BOS token, for templates. Empty if there is none.
    pub(super) fn bos(&self) -> String {
        self.bos.map(|bos| self.name(bos)).unwrap_or_default()
    }

    /// The name of the EOS token, for templates.
    pub(super) fn eos(&self) -> String {
        self.ends.first().map(|end| self.name(*end)).unwrap_or_default()
    }

    /// Whether `token` ends a reply.
    pub(super) fn is_end(&self, token: u32) -> bool {
        self.ends.contains(&token)
    }
}

/// Builds a byte-level BPE tokenizer (GPT-2). `tokenizer.ggml.pre` selects the pre-tokenizer.
fn byte_level(gguf: &Gguf, pieces: &[&str]) -> Result<Tokenizer, LoadError> {
    let merges = gguf.texts("tokenizer.ggml.merges")?;
    let pairs = merges.iter().map(|merge| {
        let (left, right) = merge
            .split_once(' ')
            .ok_or_else(|| gguf.corrupt(format!("`{merge}` is not a valid merge")))?;
        Ok((left.to_owned(), right.to_owned()))
    });
    let pairs = pairs.collect::<Result<Merges, LoadError>>()?;
    let failed = |error: tokenizers::Error| gguf.corrupt(format!("invalid tokenizer: {error}"));
    let split = |pattern: &str| -> Result<PreTokenizerWrapper, LoadError> {
        let pattern = SplitPattern::Regex(pattern.to_owned());
        let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false).map_err(failed)?;
        Ok(Sequence::new(vec![split.into(), ByteLevel::new(false, false, false).into()]).into())
    };
    let gpt2 = ByteLevel::new(false, false, true);
    let pre = gguf.optional_text("tokenizer.ggml.pre").unwrap_or("default");
    let (pre_tokenizer, normalizer, ignore_merges) = match pre {
        "default" | "gpt-2" | "gpt2" => (gpt2.into(), None, false),
        "smollm" => (
            Sequence::new(vec![Digits::new(true).into(), gpt2.into()]).into(),
            None,
            false,
        ),
        "llama-bpe" | "llama3" | "llama-v3" => (split(LLAMA3)?, None, true),
        "qwen2" | "deepseek-r1-qwen" => (split(QWEN2)?, Some(NFC), false),
        other => {
            return Err(LoadError::Tokenizer {
                path: gguf.path().to_owned(),
                found: format!("gpt2 with {other}"),
                known: "default, gpt-2, smollm, llama-bpe, qwen2".to_owned(),
            });
        }
    };
    let model = BPE::builder()
        .vocab_and_merges(vocabulary(pieces), pairs)
        .ignore_merges(ignore_merges)
        .build()
        .map_err(failed)?;
    let mut tokenizer = Tokenizer::new(model);
    tokenizer.with_pre_tokenizer(Some(pre_tokenizer));
    tokenizer.with_normalizer(normalizer).map_err(failed)?;
    Ok(tokenizer)
}

/// Builds a SentencePiece BPE tokenizer, which merges the adjacent pair whose piece has the best score first.
fn sentencepiece(gguf: &Gguf, pieces: &[&str], kinds: &[Kind]) -> Result<Tokenizer, LoadError> {
    let failed = |error: tokenizers::Error| gguf.corrupt(format!("invalid tokenizer: {error}"));
    let scores = gguf.numbers("tokenizer.ggml.scores", |value| value.to_f32().ok())?;
    let merges = merges::from_scores(pieces, &scores, |index| kinds.get(index) == Some(&Kind::Normal));
    let unknown = gguf.number("tokenizer.ggml.unknown_token_id");
    let mut model = BPE::builder()
        .vocab_and_merges(vocabulary(pieces), merges)
        .byte_fallback(true)
        .fuse_unk(true);
    if let Some(unknown) = unknown.and_then(|id| pieces.get(usize::try_from(id).ok()?)) {
        model = model.unk_token((*unknown).to_owned());
    }
    let mut tokenizer = Tokenizer::new(model.build().map_err(failed)?);
    let mut steps: Vec<NormalizerWrapper> = Vec::new();
    if gguf.flag("tokenizer.ggml.add_space_prefix").unwrap_or(true) {
        steps.push(Prepend::new(SPACE.to_owned()).into());
    }
    steps.push(Replace::new(" ", SPACE).map_err(failed)?.into());
    tokenizer
        .with_normalizer(Some(Normalizers::new(steps)))
        .map_err(failed)?;
    Ok(tokenizer)
}

fn vocabulary(pieces: &[&str]) -> Vocab {
    (0..)
        .zip(pieces)
        .map(|(index, piece)| ((*piece).to_owned(), index))
        .collect()
}

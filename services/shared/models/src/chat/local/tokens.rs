//! From text to tokens and back, by the tables that a GGUF file has.

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
use super::gguf::{Gguf, whole};

pub(super) use bytes::Text;

/// The mark that stands for a space in a sentencepiece vocabulary.
const SPACE: &str = "\u{2581}";

/// Contractions, words, numbers in groups, signs, and white space: how Llama 3 cuts a text.
const LLAMA3: &str = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The same with each digit for itself: Qwen 2.
const QWEN2: &str = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Ends of a turn that not every file names as one.
const ENDS: [&str; 8] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<end_of_turn>",
    "<|end|>",
    "</s>",
    "<eos>",
];

/// What `tokenizer.ggml.token_type` says of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Normal,
    /// What structures a conversation; no text of its own.
    Control,
    /// A text that is always one token.
    Whole,
    /// `<0x0A>`: one byte.
    Byte,
    /// Nothing that is written.
    Unused,
}

impl Kind {
    fn of(code: u64) -> Self {
        match code {
            2 | 5 => Self::Unused,
            3 => Self::Control,
            4 => Self::Whole,
            6 => Self::Byte,
            _ => Self::Normal,
        }
    }
}

/// The vocabulary of a model.
pub(super) struct Tokens {
    tokenizer: Tokenizer,
    /// The bytes that each token stands for; none for those that are no text.
    bytes: Vec<Box<[u8]>>,
    /// How the tokens that are no text are written.
    control: HashMap<u32, String>,
    bos: Option<u32>,
    add_bos: bool,
    ends: Vec<u32>,
}

impl Tokens {
    /// Reads the tables of `gguf`.
    pub(super) fn read(gguf: &Gguf) -> Result<Self, LoadError> {
        let pieces = gguf.texts("tokenizer.ggml.tokens")?;
        let mut kinds = gguf.numbers("tokenizer.ggml.token_type", |value| whole(value).map(Kind::of))?;
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
                Kind::Normal if is_bytes => bytes::of_byte_level(piece),
                Kind::Normal | Kind::Whole => piece.replace(SPACE, " ").into_bytes().into(),
                Kind::Byte => bytes::of_hex(piece),
                Kind::Control | Kind::Unused => Box::default(),
            });
            match kind {
                Kind::Control => {
                    added.push(AddedToken::from(*piece, true).normalized(false));
                    if ENDS.contains(piece) && !tokens.ends.contains(&index) {
                        tokens.ends.push(index);
                    }
                    tokens.control.insert(index, (*piece).to_owned());
                }
                Kind::Whole => added.push(AddedToken::from(*piece, false).normalized(false)),
                Kind::Normal | Kind::Byte | Kind::Unused => {}
            }
        }
        // They are in the vocabulary: this makes the text of one be that token, whatever is around it.
        let added = tokens.tokenizer.add_tokens(added);
        added.map_err(|error| gguf.corrupt(format!("its tokens: {error}")))?;
        if tokens.ends.is_empty() {
            return Err(gguf.corrupt("no token of it ends a reply"));
        }
        Ok(tokens)
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The tokens of a conversation as its template wrote it, in which control tokens are what they say.
    ///
    /// # Errors
    /// The tokenizer's own words when it fails.
    pub(super) fn of_conversation(&self, text: &str) -> Result<Vec<u32>, String> {
        let encoding = self.tokenizer.encode_fast(text, false);
        let mut ids = encoding.map_err(|error| error.to_string())?.get_ids().to_vec();
        if let Some(bos) = self.bos.filter(|bos| self.add_bos && ids.first() != Some(bos)) {
            ids.insert(0, bos);
        }
        Ok(ids)
    }

    /// `text` so that no control token is in it: what somebody wrote must not end a turn or begin another.
    pub(super) fn harmless(&self, text: &str) -> String {
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

    /// The bytes of a token; none where it is no text.
    pub(super) fn bytes(&self, token: u32) -> &[u8] {
        self.bytes.get(token as usize).map_or(&[], |bytes| bytes)
    }

    /// A token for a person: its text, with a mark for what is only a part of a character.
    pub(super) fn name(&self, token: u32) -> String {
        match self.control.get(&token) {
            Some(name) => name.clone(),
            None => String::from_utf8_lossy(self.bytes(token)).into_owned(),
        }
    }

    /// How the first token of a conversation is written, for templates.
    pub(super) fn bos(&self) -> String {
        self.bos.map(|bos| self.name(bos)).unwrap_or_default()
    }

    /// How the end of a turn is written, for templates.
    pub(super) fn eos(&self) -> String {
        self.ends.first().map(|end| self.name(*end)).unwrap_or_default()
    }

    /// Whether a reply ends with this token.
    pub(super) fn ends(&self, token: u32) -> bool {
        self.ends.contains(&token)
    }
}

/// Byte-pair encoding over bytes, as GPT-2 began it; how a text is cut before that is `tokenizer.ggml.pre`.
fn byte_level(gguf: &Gguf, pieces: &[&str]) -> Result<Tokenizer, LoadError> {
    let merges = gguf.texts("tokenizer.ggml.merges")?;
    let pairs = merges.iter().map(|merge| {
        let (left, right) = merge
            .split_once(' ')
            .ok_or_else(|| gguf.corrupt(format!("`{merge}` is no merge")))?;
        Ok((left.to_owned(), right.to_owned()))
    });
    let pairs = pairs.collect::<Result<Merges, LoadError>>()?;
    let failed = |error: tokenizers::Error| gguf.corrupt(format!("its tokenizer: {error}"));
    let cut = |pattern: &str| -> Result<PreTokenizerWrapper, LoadError> {
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
        "llama-bpe" | "llama3" | "llama-v3" => (cut(LLAMA3)?, None, true),
        "qwen2" | "deepseek-r1-qwen" => (cut(QWEN2)?, Some(NFC), false),
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

/// Sentencepiece's byte-pair encoding: of two neighbours, those are merged first that make the piece with the best score.
fn sentencepiece(gguf: &Gguf, pieces: &[&str], kinds: &[Kind]) -> Result<Tokenizer, LoadError> {
    let failed = |error: tokenizers::Error| gguf.corrupt(format!("its tokenizer: {error}"));
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

//! Models small enough to be written by a test: random weights of a few kilobytes.

use std::path::Path;

use candle_core::quantized::gguf_file::{self, Value};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};

pub const HIDDEN: usize = 32;
const INNER: usize = 64;
const HEAD: usize = 8;

/// What a file is to be like.
pub struct Tiny {
    pub family: &'static str,
    pub context: u32,
    /// Every logit is the same, and of equals the last token is taken, which ends the reply.
    pub silent: bool,
    pub template: Option<&'static str>,
}

impl Default for Tiny {
    fn default() -> Self {
        Self {
            family: "llama",
            context: 1 << 20,
            silent: false,
            template: None,
        }
    }
}

impl Tiny {
    pub fn of(family: &'static str) -> Self {
        Self {
            family,
            ..Self::default()
        }
    }

    fn layers(&self) -> u32 {
        // Of six layers of Gemma the sixth looks back without limit.
        if self.family == "gemma3" { 7 } else { 2 }
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) {
        let vocabulary = Vocabulary::of(self.family);
        let mut metadata = vec![
            ("general.architecture".to_owned(), Value::String(self.family.to_owned())),
            (
                "tokenizer.ggml.model".to_owned(),
                Value::String(vocabulary.model.to_owned()),
            ),
            ("tokenizer.ggml.tokens".to_owned(), texts(&vocabulary.pieces)),
            ("tokenizer.ggml.merges".to_owned(), texts(&vocabulary.merges)),
            (
                "tokenizer.ggml.token_type".to_owned(),
                Value::Array(vocabulary.kinds.iter().map(|kind| Value::I32(*kind)).collect()),
            ),
            (
                "tokenizer.ggml.scores".to_owned(),
                Value::Array(
                    (0..vocabulary.pieces.len())
                        .map(|at| Value::F32(-(at as f32)))
                        .collect(),
                ),
            ),
            (
                "tokenizer.ggml.eos_token_id".to_owned(),
                Value::U32(vocabulary.pieces.len() as u32 - 1),
            ),
        ];
        if let Some(pre) = vocabulary.pre {
            metadata.push(("tokenizer.ggml.pre".to_owned(), Value::String(pre.to_owned())));
        }
        if let Some(template) = self.template {
            metadata.push(("tokenizer.chat_template".to_owned(), Value::String(template.to_owned())));
        }
        for (name, size) in [
            ("block_count", self.layers()),
            ("context_length", self.context),
            ("embedding_length", HIDDEN as u32),
            ("feed_forward_length", INNER as u32),
            ("attention.head_count", 4),
            ("attention.head_count_kv", 2),
            ("attention.key_length", HEAD as u32),
            ("attention.sliding_window", 5),
        ] {
            metadata.push((format!("{}.{name}", self.family), Value::U32(size)));
        }
        let epsilon = format!("{}.attention.layer_norm_rms_epsilon", self.family);
        metadata.push((epsilon, Value::F32(1e-5)));

        let tensors = self.tensors(vocabulary.pieces.len());
        let metadata: Vec<(&str, &Value)> = metadata.iter().map(|(name, value)| (name.as_str(), value)).collect();
        let tensors: Vec<(&str, &QTensor)> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        gguf_file::write(&mut std::fs::File::create(path).unwrap(), &metadata, &tensors).unwrap();
    }

    fn tensors(&self, pieces: usize) -> Vec<(String, QTensor)> {
        let mut random = Random(7);
        let mut output = random.values(pieces * HIDDEN, 1.0);
        if self.silent {
            output.fill(0.0);
        } else {
            // Never the token that ends the reply: some logit of some other is above 0.
            output[(pieces - 1) * HIDDEN..].fill(0.0);
        }
        let mut tensors = vec![
            (
                "token_embd.weight".to_owned(),
                random.matrix(pieces, HIDDEN, GgmlDType::Q8_0),
            ),
            (
                "output.weight".to_owned(),
                quantized(output, &[pieces, HIDDEN], GgmlDType::F32),
            ),
            ("output_norm.weight".to_owned(), random.vector(HIDDEN)),
        ];
        let (queries, keys) = (4 * HEAD, 2 * HEAD);
        for layer in 0..self.layers() {
            let mut add = |name: &str, tensor| tensors.push((format!("blk.{layer}.{name}"), tensor));
            for (name, rows, columns) in [
                ("attn_q.weight", queries, HIDDEN),
                ("attn_k.weight", keys, HIDDEN),
                ("attn_v.weight", keys, HIDDEN),
                ("attn_output.weight", HIDDEN, queries),
                ("ffn_gate.weight", INNER, HIDDEN),
                ("ffn_up.weight", INNER, HIDDEN),
                ("ffn_down.weight", HIDDEN, INNER),
            ] {
                add(name, random.matrix(rows, columns, GgmlDType::Q4_1));
            }
            let mut norms = vec![("attn_norm.weight", HIDDEN), ("ffn_norm.weight", HIDDEN)];
            match self.family {
                "qwen2" => norms.extend([("attn_q.bias", queries), ("attn_k.bias", keys), ("attn_v.bias", keys)]),
                "qwen3" => norms.extend([("attn_q_norm.weight", HEAD), ("attn_k_norm.weight", HEAD)]),
                "gemma3" => norms.extend([
                    ("attn_q_norm.weight", HEAD),
                    ("attn_k_norm.weight", HEAD),
                    ("post_attention_norm.weight", HIDDEN),
                    ("post_ffw_norm.weight", HIDDEN),
                ]),
                _ => {}
            }
            for (name, length) in norms {
                add(name, random.vector(length));
            }
        }
        tensors
    }
}

/// The tokens of a tiny model: every byte, a few merges, and what structures a conversation.
struct Vocabulary {
    model: &'static str,
    pre: Option<&'static str>,
    pieces: Vec<String>,
    kinds: Vec<i32>,
    merges: Vec<String>,
}

impl Vocabulary {
    fn of(family: &str) -> Self {
        let (mut pieces, merges): (Vec<String>, Vec<String>) = if family == "gemma3" {
            let bytes = (0..=u8::MAX).map(|byte| format!("<0x{byte:02X}>"));
            let letters = ('a'..='z')
                .map(String::from)
                .chain(["▁".to_owned(), "th".to_owned(), "▁th".to_owned()]);
            (bytes.chain(letters).collect(), Vec::new())
        } else {
            let mut bytes: Vec<char> = tokenizers::pre_tokenizers::byte_level::ByteLevel::alphabet()
                .into_iter()
                .collect();
            bytes.sort_unstable();
            let merged = ["th", "Ġth", "the"].map(str::to_owned);
            let merges = ["t h", "Ġ th", "th e"].map(str::to_owned);
            (
                bytes.into_iter().map(String::from).chain(merged).collect(),
                merges.to_vec(),
            )
        };
        let kind = |piece: &String| if piece.starts_with("<0x") { 6 } else { 1 };
        let mut kinds: Vec<i32> = pieces.iter().map(kind).collect();
        for control in ["<|im_start|>", "<|im_end|>"] {
            pieces.push(control.to_owned());
            kinds.push(3);
        }
        Self {
            model: if family == "gemma3" { "llama" } else { "gpt2" },
            pre: match family {
                "llama" => Some("smollm"),
                "gemma3" => None,
                _ => Some("qwen2"),
            },
            pieces,
            kinds,
            merges,
        }
    }
}

fn texts(values: &[String]) -> Value {
    Value::Array(values.iter().cloned().map(Value::String).collect())
}

/// The same numbers on every machine.
struct Random(u64);

impl Random {
    fn values(&mut self, count: usize, spread: f32) -> Vec<f32> {
        let mut next = || {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0) * spread
        };
        (0..count).map(|_| next()).collect()
    }

    fn matrix(&mut self, rows: usize, columns: usize, kind: GgmlDType) -> QTensor {
        quantized(self.values(rows * columns, 0.5), &[rows, columns], kind)
    }

    fn vector(&mut self, length: usize) -> QTensor {
        let values = self.values(length, 0.2).into_iter().map(|value| 1.0 + value).collect();
        quantized(values, &[length], GgmlDType::F32)
    }
}

fn quantized(values: Vec<f32>, shape: &[usize], kind: GgmlDType) -> QTensor {
    let tensor = Tensor::from_vec(values, shape, &Device::Cpu).unwrap();
    QTensor::quantize(&tensor, kind).unwrap()
}

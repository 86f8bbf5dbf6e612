//! Embedder options, from flags and environment variables.

use std::{convert::Infallible, fmt, num::NonZeroUsize, path::PathBuf};

use emend_core::without_secrets;

use super::{EmbedderChoice, Precision};
use crate::secret::NoKeyHere;
use emend_core::Secret;

/// Embedder options.
#[derive(Clone, PartialEq, Eq, Hash, clap::Args)]
pub struct EmbedderOptions {
    /// Embedder: `e5-small` (about a hundred languages), `minilm` (English, faster), `hashed` (no download, for tests)
    /// or `openai:MODEL` (a model on a server).
    #[arg(long, env = "EMEND_EMBEDDER", default_value = "e5-small", value_name = "NAME")]
    pub embedder: EmbedderChoice,

    /// Folder with the weights, for machines without internet access. Checked before anything is downloaded.
    #[arg(long, env = "EMEND_MODEL_DIR", value_name = "DIR")]
    pub model_dir: Option<PathBuf>,

    /// Base URL of the OpenAI-compatible server of `openai:MODEL`, including the version: `…/v1`.
    #[arg(
        long,
        env = "EMEND_EMBEDDER_URL",
        hide_env_values = true,
        default_value = "https://api.openai.com/v1",
        value_name = "URL"
    )]
    pub embedder_url: String,

    /// File with the API key for the server of `openai:MODEL`. Without it the key is that of the environment:
    /// EMEND_EMBEDDER_API_KEY.
    #[arg(long, env = "EMEND_EMBEDDER_API_KEY_FILE", value_name = "FILE")]
    pub embedder_api_key_file: Option<PathBuf>,

    /// The API key, where it is given by the program itself.
    #[arg(skip)]
    pub embedder_api_key: Option<Secret>,

    #[expect(missing_docs, reason = "it only says what to use")]
    #[arg(
        long = "embedder-api-key",
        hide = true,
        value_parser = NoKeyHere("write the key to a file for --embedder-api-key-file, or set EMEND_EMBEDDER_API_KEY")
    )]
    pub embedder_api_key_refused: Option<Infallible>,

    /// Threads of a local embedder. Defaults to the number of physical cores that this process may use.
    #[arg(long, env = "EMEND_EMBEDDER_THREADS", value_name = "N")]
    pub embedder_threads: Option<NonZeroUsize>,

    /// Numbers that a local embedder computes with: `f32`, `int8` (8-bit integers, on a CPU with AVX-512 VNNI) or `auto`,
    /// which is `int8` where the CPU has it.
    #[arg(long, env = "EMEND_EMBEDDER_PRECISION", default_value = "auto", value_name = "NAME")]
    pub embedder_precision: Precision,

    /// Size of the embedding cache in MiB; 0 disables it.
    #[arg(long, env = "EMEND_EMBEDDER_CACHE_MIB", default_value_t = 64, value_name = "MIB")]
    pub embedder_cache_mib: u32,
}

impl EmbedderOptions {
    /// Creates default options for `embedder`.
    #[must_use]
    pub fn of(embedder: EmbedderChoice) -> Self {
        Self {
            embedder,
            model_dir: None,
            embedder_url: "https://api.openai.com/v1".to_owned(),
            embedder_api_key_file: None,
            embedder_api_key: None,
            embedder_api_key_refused: None,
            embedder_threads: None,
            embedder_precision: Precision::Auto,
            embedder_cache_mib: 64,
        }
    }
}

impl Default for EmbedderOptions {
    fn default() -> Self {
        Self::of(EmbedderChoice::E5Small)
    }
}

impl fmt::Debug for EmbedderOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbedderOptions")
            .field("embedder", &self.embedder)
            .field("model_dir", &self.model_dir)
            .field("embedder_url", &without_secrets(&self.embedder_url))
            .field("embedder_api_key_file", &self.embedder_api_key_file)
            .field("embedder_api_key", &self.embedder_api_key)
            .field("embedder_threads", &self.embedder_threads)
            .field("embedder_precision", &self.embedder_precision)
            .field("embedder_cache_mib", &self.embedder_cache_mib)
            .finish()
    }
}

#[cfg(test)]
mod tests;

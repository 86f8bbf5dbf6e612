//! The options of an embedder, as flags and environment variables.

use std::{fmt, num::NonZeroUsize, path::PathBuf};

use super::EmbedderChoice;

/// Which embedder, where its weights are and how much of the machine it may use.
#[derive(Clone, PartialEq, Eq, Hash, clap::Args)]
pub struct EmbedderOptions {
    /// The embedder: `e5-small` (about a hundred languages), `minilm` (English, faster), `hashed` (no download, for tests)
    /// or `openai:MODEL` (a server's).
    #[arg(long, env = "EMEND_EMBEDDER", default_value = "e5-small", value_name = "NAME")]
    pub embedder: EmbedderChoice,

    /// A folder with the weights, for a machine without internet; looked at before anything is downloaded.
    #[arg(long, env = "EMEND_MODEL_DIR", value_name = "DIR")]
    pub model_dir: Option<PathBuf>,

    /// Base address of the OpenAI-compatible server of `openai:MODEL`, with its version: `…/v1`.
    #[arg(
        long,
        env = "EMEND_EMBEDDER_URL",
        default_value = "https://api.openai.com/v1",
        value_name = "URL"
    )]
    pub embedder_url: String,

    /// The key that the server of `openai:MODEL` asks for.
    #[arg(long, env = "EMEND_EMBEDDER_API_KEY", hide_env_values = true, value_name = "KEY")]
    pub embedder_api_key: Option<String>,

    /// Threads that a local embedder computes on; default: the number of physical cores that this process may use.
    #[arg(long, env = "EMEND_EMBEDDER_THREADS", value_name = "N")]
    pub embedder_threads: Option<NonZeroUsize>,

    /// Memory for embeddings that may be asked for again, in MiB; 0 remembers none.
    #[arg(long, env = "EMEND_EMBEDDER_CACHE_MIB", default_value_t = 64, value_name = "MIB")]
    pub embedder_cache_mib: u32,
}

impl EmbedderOptions {
    /// The defaults with another embedder.
    #[must_use]
    pub fn of(embedder: EmbedderChoice) -> Self {
        Self {
            embedder,
            model_dir: None,
            embedder_url: "https://api.openai.com/v1".to_owned(),
            embedder_api_key: None,
            embedder_threads: None,
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
            .field("embedder_url", &self.embedder_url)
            .field("embedder_api_key", &self.embedder_api_key.as_ref().map(|_| "…"))
            .field("embedder_threads", &self.embedder_threads)
            .field("embedder_cache_mib", &self.embedder_cache_mib)
            .finish()
    }
}

#[cfg(test)]
mod tests;

//! The options of the retriever.

mod qdrant;

use std::path::PathBuf;

use clap::Parser;
use emend_chassis::ServiceOptions;
use emend_models::embed::EmbedderOptions;
use etcetera::BaseStrategy;

use crate::split::SplitSettings;

pub use qdrant::{QdrantOptions, StoreChoice};

/// Keeps collections of documents and finds the passages that are near a query.
#[derive(Clone, Debug, Parser)]
#[command(name = "emend-retriever", version, about, mut_arg("listen", |listen| listen.default_value("127.0.0.1:50051")))]
pub struct Options {
    /// What every service has.
    #[command(flatten)]
    pub service: ServiceOptions,

    /// What turns texts into vectors. A collection keeps the embedder of its first document.
    #[command(flatten)]
    pub embedder: EmbedderOptions,

    /// Where collections are kept.
    #[arg(long, env = "EMEND_STORE", value_name = "STORE", value_enum, default_value_t)]
    pub store: StoreChoice,

    /// The server of --store qdrant.
    #[command(flatten)]
    pub qdrant: QdrantOptions,

    /// Folder of the collections of --store edge; one process at a time. Default: `emend/collections` in the user's data folder.
    #[arg(long, env = "EMEND_DATA_DIR", value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,

    /// Where questions are asked, for those who find the folder in use; said by a program that runs both.
    #[arg(skip)]
    pub orchestrator_url: Option<String>,

    /// Most tokens of a chunk, the piece that is embedded. Documents that are ingested again are cut anew when this
    /// changes.
    #[arg(long, env = "EMEND_CHUNK_TOKENS", value_name = "TOKENS", default_value_t = 250, value_parser = clap::value_parser!(u32).range(16..=8192))]
    pub chunk_tokens: u32,

    /// Tokens that a chunk repeats of the chunk before it; less than --chunk-tokens.
    #[arg(long, env = "EMEND_CHUNK_OVERLAP", value_name = "TOKENS", default_value_t = 0)]
    pub chunk_overlap: u32,

    /// Most tokens of a parent section, the piece that is handed to the generator; at least --chunk-tokens.
    #[arg(long, env = "EMEND_PARENT_TOKENS", value_name = "TOKENS", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(16..=16_384))]
    pub parent_tokens: u32,

    /// Documents that are worked on at once, over all streams; further ones wait.
    #[arg(long, env = "EMEND_INGEST_IN_FLIGHT", value_name = "DOCUMENTS", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub ingest_in_flight: u32,
}

/// Options that do not go together.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OptionsError {
    #[error("--chunk-overlap {overlap} must be less than --chunk-tokens {chunk}")]
    Overlap { overlap: u32, chunk: u32 },
    #[error("--parent-tokens {parent} must be at least --chunk-tokens {chunk}")]
    Parent { parent: u32, chunk: u32 },
    #[error("--chunk-tokens {chunk} is more than embedder {embedder} reads ({most}): lower it")]
    Chunk { chunk: u32, embedder: String, most: usize },
    #[error("there is no user's data folder here: choose a folder with --data-dir")]
    NoDataFolder(#[source] etcetera::HomeDirError),
}

impl Options {
    /// Where the collections are.
    pub(crate) fn data_folder(&self) -> Result<PathBuf, OptionsError> {
        match &self.data_dir {
            Some(folder) => Ok(folder.clone()),
            None => {
                let base = etcetera::choose_base_strategy().map_err(OptionsError::NoDataFolder)?;
                Ok(base.data_dir().join("emend").join("collections"))
            }
        }
    }

    /// How documents are cut, for an embedder that reads `most` tokens.
    pub(crate) fn split_settings(&self, embedder: &str, most: usize) -> Result<SplitSettings, OptionsError> {
        let (chunk, overlap, parent) = (self.chunk_tokens, self.chunk_overlap, self.parent_tokens);
        if overlap >= chunk {
            return Err(OptionsError::Overlap { overlap, chunk });
        }
        if parent < chunk {
            return Err(OptionsError::Parent { parent, chunk });
        }
        if chunk as usize > most {
            return Err(OptionsError::Chunk {
                chunk,
                embedder: embedder.to_owned(),
                most,
            });
        }
        Ok(SplitSettings {
            chunk: chunk as usize,
            overlap: overlap as usize,
            section: parent as usize,
        })
    }
}

emend_chassis::service_options!(Options);

#[cfg(test)]
mod tests;

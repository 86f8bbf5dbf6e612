//! Loads embedders. All callers in the process with the same options share one.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::Instant,
};

use super::{Cached, Embedder, EmbedderChoice, EmbedderOptions, HashedEmbedder, ModelError};
use crate::progress::Progress;

/// A weak reference to a loaded embedder. The lock is held while the embedder is loaded.
type Slot = Arc<tokio::sync::Mutex<Option<Weak<dyn Embedder>>>>;

fn slot(options: &EmbedderOptions) -> Slot {
    static SLOTS: OnceLock<Mutex<HashMap<EmbedderOptions, Slot>>> = OnceLock::new();
    let mut slots = SLOTS
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    slots.entry(options.clone()).or_default().clone()
}

/// Loads the embedder of `options`, or returns the one that this process has already loaded.
///
/// Missing weights are downloaded; `progress` reports the download. Concurrent calls load the embedder once.
///
/// # Errors
/// [`ModelError`] if the weights cannot be fetched or read, or the server of `openai:MODEL` does not answer.
pub async fn load(options: &EmbedderOptions, progress: Progress) -> Result<Arc<dyn Embedder>, ModelError> {
    let slot = slot(options);
    let mut slot = slot.lock().await;
    if let Some(embedder) = slot.as_ref().and_then(Weak::upgrade) {
        return Ok(embedder);
    }
    let started = Instant::now();
    let embedder: Arc<dyn Embedder> = Arc::new(Cached::new(make(options, progress).await?, options.embedder_cache_mib));
    tracing::info!(
        embedder = embedder.id(),
        dimensions = embedder.dimensions(),
        elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        "embedder loaded"
    );
    *slot = Some(Arc::downgrade(&embedder));
    Ok(embedder)
}

async fn make(options: &EmbedderOptions, progress: Progress) -> Result<Arc<dyn Embedder>, ModelError> {
    match &options.embedder {
        EmbedderChoice::Hashed => Ok(Arc::new(HashedEmbedder)),
        #[cfg(feature = "openai")]
        EmbedderChoice::OpenAi(model) => Ok(Arc::new(super::OpenAiEmbedder::connect(model, options).await?)),
        #[cfg(feature = "local")]
        EmbedderChoice::E5Small | EmbedderChoice::MiniLm => super::local::load(options, progress).await,
        #[cfg(not(all(feature = "local", feature = "openai")))]
        _ => {
            drop(progress);
            Err(ModelError::NotBuilt {
                embedder: options.embedder.to_string(),
                feature: if matches!(options.embedder, EmbedderChoice::OpenAi(_)) {
                    "openai"
                } else {
                    "local"
                },
            })
        }
    }
}

#[cfg(test)]
mod tests;

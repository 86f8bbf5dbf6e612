//! Loads a local chat model by name or path. All callers in the process share its weights.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Instant;

use super::engine::Engine;
use super::{LoadError, LocalChat};
use crate::chat::{ChatError, ChatOptions, LocalModel};
use crate::fetch::{self, FetchOptions};
use crate::progress::Progress;

/// A weak reference to a loaded model. The lock is held while the model is loaded.
type Slot = Arc<tokio::sync::Mutex<Weak<Engine>>>;

/// A model and the value of `--llm-model-dir`.
type Key = (LocalModel, Option<PathBuf>);

fn slot(model: &LocalModel, model_dir: Option<PathBuf>) -> Slot {
    static SLOTS: OnceLock<Mutex<HashMap<Key, Slot>>> = OnceLock::new();
    let mut slots = SLOTS
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    slots.entry((model.clone(), model_dir)).or_default().clone()
}

/// Loads `model`, or reuses its weights if this process has loaded them, with the request defaults of `options`.
///
/// A missing file is downloaded; `progress` reports the download. Concurrent calls load the model once.
///
/// # Errors
/// [`ChatError::Options`] if the file cannot be fetched or loaded.
pub async fn load(options: &ChatOptions, model: &LocalModel, progress: Progress) -> Result<LocalChat, ChatError> {
    let engine = engine(options, model, progress)
        .await
        .map_err(|error| ChatError::Options {
            option: "--llm-local",
            reason: error.to_string(),
        })?;
    Ok(LocalChat::new(engine, options))
}

async fn engine(options: &ChatOptions, model: &LocalModel, progress: Progress) -> Result<Arc<Engine>, LoadError> {
    let slot = slot(model, options.llm_model_dir.clone());
    let mut slot = slot.lock().await;
    if let Some(engine) = slot.upgrade() {
        return Ok(engine);
    }
    let started = Instant::now();
    let (path, name) = match model {
        LocalModel::SmolLm2 => {
            let fetch_options = FetchOptions::new(options.llm_model_dir.clone())?;
            let files = fetch::ensure(&fetch::SMOLLM2, &fetch_options, progress).await?;
            (files.paths().next(), fetch::SMOLLM2.name.to_owned())
        }
        LocalModel::File(path) => {
            let stem = path.file_stem().unwrap_or_default();
            (Some(path.clone()), stem.to_string_lossy().into_owned())
        }
    };
    let path = path.unwrap_or_default();
    let read = {
        let path = path.clone();
        tokio::task::spawn_blocking(move || Engine::read(&path, name)).await
    };
    let engine = Arc::new(read.unwrap_or_else(|error| Err(LoadError::corrupt(&path, error)))?);
    tracing::info!(
        model = engine.name(),
        context = engine.context(),
        elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        "chat model loaded"
    );
    *slot = Arc::downgrade(&engine);
    Ok(engine)
}

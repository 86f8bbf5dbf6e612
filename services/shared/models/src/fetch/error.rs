//! Why a model could not be fetched.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// The files of a model could not be had.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// There is no place to keep downloads.
    #[error("no home folder to keep models in: set EMEND_CACHE_DIR to a folder that can be written to")]
    NoCacheDir,
    /// A file in the user's own folder is not the one that it should be.
    #[error("{} is not the file that it should be: its sha256 is {got}, expected {expected}; replace it or unset EMEND_MODEL_DIR", path.display())]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// The right SHA-256.
        expected: String,
        /// The file's SHA-256.
        got: String,
    },
    /// A folder or file of the user cannot be used.
    #[error("{}: {detail}", path.display())]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        detail: String,
    },
    /// Every source failed.
    #[error(
        "model {model} cannot be had; {}; put {wanted} into a folder and set EMEND_MODEL_DIR to it, or {instead}",
        Tried(attempts)
    )]
    Exhausted {
        /// The model.
        model: &'static str,
        /// The names of the files that would do.
        wanted: String,
        /// What to do without it.
        instead: &'static str,
        /// What was tried, in order.
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

/// A source that was tried and why it failed.
#[derive(Debug)]
pub struct Attempt {
    /// The source, for a person.
    pub source: String,
    /// What happened.
    pub error: SourceError,
}

/// A source did not give a file.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// It does not have it.
    #[error("{0}")]
    Absent(String),
    /// It could not be reached.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// It answered with an error.
    #[error("{0}")]
    Refused(String),
    /// It gave something else.
    #[error("{file} has the sha256 {got}, expected {expected}")]
    Mismatch {
        /// The file's name.
        file: String,
        /// The right SHA-256.
        expected: String,
        /// What it gave.
        got: String,
    },
    /// It gave a file of another size.
    #[error("{file} has {got} bytes, expected {expected}")]
    Size {
        /// The file's name.
        file: String,
        /// The right size, or the most that is taken.
        expected: u64,
        /// What it gave, as far as it was read.
        got: u64,
    },
    /// A file could not be read or written here.
    #[error("{path}: {detail}", path = path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
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

struct Tried<'a>(&'a [Attempt]);

impl fmt::Display for Tried<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tried ")?;
        for (index, attempt) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; then " };
            write!(f, "{separator}{}: {}", attempt.source, attempt.error)?;
        }
        Ok(())
    }
}

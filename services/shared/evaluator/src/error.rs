//! Evaluation errors.

use std::path::PathBuf;

use emend_core::BrokenOff;
use emend_models::embed::EmbedError;

/// A failed evaluation, or unusable coefficients.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// The texts could not be embedded.
    #[error("cannot embed the texts to evaluate")]
    Embed(#[from] EmbedError),
    /// The coefficients file cannot be read.
    #[error("cannot read coefficients at {path}", path = path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The coefficients file is invalid.
    #[error("coefficients {file}: {reason}")]
    Coefficients {
        /// The path of the file, or the name of the built-in one.
        file: String,
        /// What is wrong, and the valid values.
        reason: String,
    },
    /// The evaluation was broken off because it panicked or the process shuts down.
    #[error("the evaluation was stopped")]
    Stopped,
}

impl From<BrokenOff> for EvaluateError {
    fn from(_: BrokenOff) -> Self {
        Self::Stopped
    }
}

impl EvaluateError {
    /// A stable name for `error.type` and for logs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Embed(_) => "embed",
            Self::Read { .. } => "read",
            Self::Coefficients { .. } => "coefficients",
            Self::Stopped => "stopped",
        }
    }
}

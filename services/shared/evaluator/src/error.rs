//! What can go wrong with an evaluation.

use std::path::PathBuf;

use emend_models::embed::EmbedError;

/// An evaluation that brought no score, or coefficients that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// The texts could not be embedded.
    #[error("cannot embed what is to be evaluated")]
    Embed(#[from] EmbedError),
    /// The file of coefficients cannot be read.
    #[error("cannot read coefficients at {path}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file of coefficients does not say what it should.
    #[error("coefficients {file}: {reason}")]
    Coefficients {
        /// The file, or the built-in one's name.
        file: String,
        /// What is wrong and what would do.
        reason: String,
    },
    /// The work was dropped before it was done, because the process shuts down.
    #[error("the evaluation was stopped")]
    Stopped,
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

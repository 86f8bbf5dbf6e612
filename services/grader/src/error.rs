//! Errors of grading as a whole. A single missing grade is not an error (R4): see
//! [`Ungraded`](crate::backend::Ungraded).

use emend_core::{Code, FieldViolation, ServiceError};
use emend_evaluator::EvaluateError;
use emend_models::chat::ChatError;
use emend_models::embed::ModelError;
use emend_models::prompt::PromptError;

/// Nothing could be graded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GradeError {
    /// Time ran out before the first grade.
    #[error("the deadline passed before anything was graded: give the call a longer timeout or fewer passages")]
    OutOfTime,
    /// The passages were cut into more strips than a request may have.
    #[error("invalid request: size: {}", too_many_strips(*most))]
    TooManyStrips {
        /// The most strips that a request may have.
        most: usize,
    },
    /// The task that cuts passages failed.
    #[error("cutting the passages into strips was broken off")]
    Cutting,
}

fn too_many_strips(most: usize) -> String {
    format!("makes more than {most} strips of these passages: give a larger size or fewer passages")
}

impl ServiceError for GradeError {
    fn code(&self) -> Code {
        match self {
            Self::OutOfTime => Code::DeadlineExceeded,
            Self::TooManyStrips { .. } => Code::InvalidArgument,
            Self::Cutting => Code::Internal,
        }
    }

    fn violations(&self) -> Vec<FieldViolation> {
        match self {
            Self::TooManyStrips { most } => vec![FieldViolation {
                field: "size".to_owned(),
                description: too_many_strips(*most),
            }],
            Self::OutOfTime | Self::Cutting => Vec::new(),
        }
    }
}

/// The backend could not be made from the options.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// `--backend llm` without a model.
    #[error("backend llm needs a model: give --llm-url and --llm-model, or --llm-local")]
    NoModel,
    /// The thresholds contradict one another.
    #[error("--llm-lower-threshold {lower} is above --llm-upper-threshold {upper}: lower it")]
    Thresholds {
        /// The lower threshold.
        lower: f64,
        /// The upper threshold.
        upper: f64,
    },
    /// The embedder could not be loaded.
    #[error("cannot load the embedder")]
    Embedder(#[from] ModelError),
    /// The evaluator's coefficients could not be loaded.
    #[error("cannot load the evaluator")]
    Evaluator(#[from] EvaluateError),
    /// The options of the model are invalid.
    #[error("cannot use the chat model")]
    Chat(#[from] ChatError),
    /// The prompts could not be loaded.
    #[error("cannot load the prompts")]
    Prompts(#[from] PromptError),
}

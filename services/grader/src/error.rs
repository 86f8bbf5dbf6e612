//! Errors of grading as a whole. A single missing grade is not an error (R4): see
//! [`Ungraded`](crate::backend::Ungraded).

use emend_core::limits::MAX_ANSWER_SENTENCES;
use emend_core::{BrokenOff, FieldViolation, MODEL_CALLS, Reason, ServiceError};
use emend_evaluator::EvaluateError;
use emend_models::chat::ChatError;
use emend_models::embed::ModelError;
use emend_models::prompt::PromptError;

/// Nothing could be graded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GradeError {
    /// Time ran out before the first grade.
    #[error("the deadline passed before anything was graded: give the call a longer timeout or fewer passages")]
    OutOfTime {
        /// Calls of models that were made all the same.
        model_calls: u32,
    },
    /// The answer has more sentences than a request may have.
    #[error("invalid request: answer: {}", too_many_sentences(*sentences))]
    TooManySentences {
        /// How many it has.
        sentences: usize,
    },
    /// The passages were cut into more strips than a request may have.
    #[error("invalid request: size: {}", too_many_strips(*most))]
    TooManyStrips {
        /// The most strips that a request may have.
        most: usize,
    },
    /// Preparing the texts failed.
    #[error("preparing the texts to grade was broken off")]
    Preparing,
}

impl From<BrokenOff> for GradeError {
    fn from(_: BrokenOff) -> Self {
        Self::Preparing
    }
}

fn too_many_sentences(sentences: usize) -> String {
    format!("must have at most {MAX_ANSWER_SENTENCES} sentences, has {sentences}: grade it in parts")
}

fn too_many_strips(most: usize) -> String {
    format!("makes more than {most} strips of these passages: give a larger size or fewer passages")
}

impl ServiceError for GradeError {
    fn reason(&self) -> Reason {
        match self {
            Self::OutOfTime { .. } => Reason::DeadlineTooShort,
            Self::TooManyStrips { .. } | Self::TooManySentences { .. } => Reason::FieldInvalid,
            Self::Preparing => Reason::Fault,
        }
    }

    fn metadata(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::OutOfTime { model_calls } => vec![(MODEL_CALLS, model_calls.to_string())],
            Self::TooManyStrips { .. } | Self::TooManySentences { .. } | Self::Preparing => Vec::new(),
        }
    }

    fn violations(&self) -> Vec<FieldViolation> {
        match self {
            Self::TooManyStrips { most } => vec![FieldViolation {
                field: "size".to_owned(),
                description: too_many_strips(*most),
            }],
            Self::TooManySentences { sentences } => vec![FieldViolation {
                field: "answer".to_owned(),
                description: too_many_sentences(*sentences),
            }],
            Self::OutOfTime { .. } | Self::Preparing => Vec::new(),
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

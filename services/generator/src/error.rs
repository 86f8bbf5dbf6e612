//! Errors of generating.

use emend_chassis::Gone;
use emend_core::{BrokenOff, MODEL_CALLS, Reason, ServiceError};
use emend_evaluator::EvaluateError;
use emend_models::chat::{ChatError, ModelFailure};
use emend_models::embed::ModelError;
use emend_models::prompt::PromptError;

/// Why there is no answer, or no complete one.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// Time ran out before the first word.
    #[error("the deadline passed before the first word: give the call a longer timeout or fewer passages")]
    OutOfTime {
        /// Calls of models that were made all the same.
        model_calls: u32,
    },
    /// The reader of the answer has disconnected.
    #[error(transparent)]
    Gone(#[from] Gone),
    /// The sentences could not be scored.
    #[error("the sentences cannot be scored")]
    Evaluator(#[from] EvaluateError),
    /// The model gave no answer.
    #[error("the model gave no answer: {0}")]
    Model(ModelFailure),
    /// Preparing the texts was broken off.
    #[error("preparing the texts failed: try again")]
    Preparing(#[from] BrokenOff),
    /// The prompt could not be rendered.
    #[error("the prompt cannot be rendered")]
    Prompt(#[from] PromptError),
}

impl ServiceError for GenerateError {
    fn reason(&self) -> Reason {
        match self {
            Self::OutOfTime { .. } => Reason::DeadlineTooShort,
            Self::Gone(gone) => gone.reason(),
            Self::Evaluator(_) | Self::Preparing(_) => Reason::Interrupted,
            Self::Prompt(_) => Reason::Fault,
            Self::Model(failure) => failure.reason(),
        }
    }

    fn passed_on(&self) -> Option<&dyn ServiceError> {
        match self {
            Self::Model(failure) => Some(failure),
            _ => None,
        }
    }

    fn metadata(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::OutOfTime { model_calls } => vec![(MODEL_CALLS, model_calls.to_string())],
            other => other.passed_on().map(ServiceError::metadata).unwrap_or_default(),
        }
    }
}

/// The backend could not be made from the options.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// `--backend openai` without a model.
    #[error("backend openai needs a model: give --llm-url and --llm-model, or --llm-local")]
    NoModel,
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

//! Errors of rewriting. Having no new query to offer is not an error: the query is empty then.

use emend_core::{BrokenOff, Reason, ServiceError};
use emend_models::chat::{ChatError, ModelFailure};
use emend_models::prompt::PromptError;

/// No query.
#[derive(Debug, thiserror::Error)]
pub enum RewriteError {
    /// The model cannot be asked.
    #[error("the model made no query: {0}")]
    Model(ModelFailure),
    /// The prompt could not be rendered.
    #[error("the prompt cannot be rendered")]
    Prompt(#[from] PromptError),
    /// The computation of keywords ended without a result.
    #[error("looking for keywords failed: try again")]
    Keywords(#[from] BrokenOff),
}

impl ServiceError for RewriteError {
    fn reason(&self) -> Reason {
        match self {
            Self::Prompt(_) => Reason::Fault,
            Self::Keywords(_) => Reason::Interrupted,
            Self::Model(failure) => failure.reason(),
        }
    }

    fn passed_on(&self) -> Option<&dyn ServiceError> {
        match self {
            Self::Model(failure) => Some(failure),
            Self::Prompt(_) | Self::Keywords(_) => None,
        }
    }
}

/// The backend could not be made from the options.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// `--backend llm` without a model.
    #[error("backend llm needs a model: give --llm-url and --llm-model, or --llm-local")]
    NoModel,
    /// The options of the model are wrong.
    #[error("cannot use the chat model")]
    Chat(#[from] ChatError),
    /// The prompts could not be loaded.
    #[error("cannot load the prompts")]
    Prompts(#[from] PromptError),
}

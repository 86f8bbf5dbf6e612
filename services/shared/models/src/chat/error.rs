//! What can go wrong with a chat model, by what a caller can do about it.

use std::time::Duration;

use emend_core::{Code, ServiceError};

/// A chat call that brought no reply. No variant carries a prompt, an answer or an API key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChatError {
    /// The server cannot be reached or answered 5xx; trying again may help.
    #[error("chat model {model} is unavailable: {reason}")]
    Unavailable {
        /// The model asked.
        model: String,
        /// The server's words, or the connection's.
        reason: String,
    },
    /// The server answered 429.
    #[error("chat model {model} limits the rate: {reason}")]
    RateLimited {
        /// The model asked.
        model: String,
        /// The server's words.
        reason: String,
        /// When to try again, where the server said so.
        retry_after: Option<Duration>,
    },
    /// The deadline passed first.
    #[error("chat model {model} did not answer within the deadline")]
    Timeout {
        /// The model asked.
        model: String,
    },
    /// The reply is not what the protocol says: cut, empty, or not JSON.
    #[error("chat model {model} sent a bad reply: {reason}")]
    BadReply {
        /// The model asked.
        model: String,
        /// What was wrong with it.
        reason: String,
    },
    /// The model, or its content filter, declined to answer.
    #[error("chat model {model} refused to answer: {reason}")]
    Refused {
        /// The model asked.
        model: String,
        /// The refusal.
        reason: String,
    },
    /// The server says that the request is wrong (4xx); trying again does not help.
    #[error("chat model {model} rejected the request with status {status}: {reason}")]
    Rejected {
        /// The model asked.
        model: String,
        /// The HTTP status.
        status: u16,
        /// The server's words.
        reason: String,
    },
    /// The API key is missing, wrong or not allowed to use the model (401, 403).
    #[error("chat model {model} refused the API key with status {status}: {reason}; check EMEND_LLM_API_KEY")]
    Unauthorized {
        /// The model asked.
        model: String,
        /// The HTTP status.
        status: u16,
        /// The server's words.
        reason: String,
    },
    /// The options do not describe a usable model.
    #[error("invalid chat option {option}: {reason}")]
    Options {
        /// The option's name.
        option: &'static str,
        /// What is wrong and what to do.
        reason: String,
    },
}

impl ChatError {
    /// The value of `error.type` in spans and metrics.
    pub fn error_type(&self) -> &'static str {
        match self {
            Self::Unavailable { .. } => "unavailable",
            Self::RateLimited { .. } => "rate_limited",
            Self::Timeout { .. } => "timeout",
            Self::BadReply { .. } => "bad_reply",
            Self::Refused { .. } => "refused",
            Self::Rejected { .. } => "rejected",
            Self::Unauthorized { .. } => "unauthorized",
            Self::Options { .. } => "options",
        }
    }

    /// Whether the same request may succeed a little later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::RateLimited { .. })
    }
}

impl ServiceError for ChatError {
    fn code(&self) -> Code {
        match self {
            // A timeout here is the model's own limit: whoever asks handles the caller's deadline first.
            Self::Unavailable { .. } | Self::BadReply { .. } | Self::Timeout { .. } => Code::Unavailable,
            Self::RateLimited { .. } => Code::ResourceExhausted,
            Self::Refused { .. } | Self::Rejected { .. } | Self::Unauthorized { .. } | Self::Options { .. } => {
                Code::FailedPrecondition
            }
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

//! Chat model errors, by what a caller can do about them.

use std::time::Duration;

use emend_core::{Reason, ServiceError};

/// A failed chat call. No variant contains a prompt, a reply or an API key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChatError {
    /// The server cannot be reached or answered 5xx. A retry may help.
    #[error("chat model {model} is unavailable: {reason}")]
    Unavailable {
        /// The model's name.
        model: String,
        /// The server's message or the connection error.
        reason: String,
    },
    /// The server answered 429.
    #[error("chat model {model} is rate limited: {reason}")]
    RateLimited {
        /// The model's name.
        model: String,
        /// The server's message.
        reason: String,
        /// How long to wait before a retry, from `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The deadline or timeout passed before the reply was complete.
    #[error("chat model {model} did not answer within the deadline")]
    Timeout {
        /// The model's name.
        model: String,
    },
    /// The reply violates the protocol: truncated, empty, or not JSON.
    #[error("chat model {model} sent a bad reply: {reason}")]
    BadReply {
        /// The model's name.
        model: String,
        /// What is wrong with the reply.
        reason: String,
    },
    /// The model, or its content filter, declined to answer.
    #[error("chat model {model} refused to answer: {reason}")]
    Refused {
        /// The model's name.
        model: String,
        /// The refusal message.
        reason: String,
    },
    /// The server rejected the request (4xx). A retry does not help.
    #[error("chat model {model} rejected the request with status {status}: {reason}")]
    Rejected {
        /// The model's name.
        model: String,
        /// The HTTP status.
        status: u16,
        /// The server's message.
        reason: String,
    },
    /// The API key is missing, invalid or not authorized for the model (401, 403).
    #[error(
        "chat model {model} refused the API key with status {status}: {reason}; check EMEND_LLM_API_KEY or --llm-api-key-file"
    )]
    Unauthorized {
        /// The model's name.
        model: String,
        /// The HTTP status.
        status: u16,
        /// The server's message.
        reason: String,
    },
    /// An option is invalid.
    #[error("invalid chat option {option}: {reason}")]
    Options {
        /// The option's name.
        option: &'static str,
        /// What is wrong and how to fix it.
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

    /// Whether a retry of the same request may succeed.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::RateLimited { .. })
    }
}

impl ServiceError for ChatError {
    fn reason(&self) -> Reason {
        match self {
            // A timeout here is the model's own: services check the caller's deadline first.
            Self::Unavailable { .. } | Self::BadReply { .. } | Self::Timeout { .. } => Reason::ModelUnavailable,
            Self::RateLimited { .. } => Reason::ModelRateLimited,
            Self::Refused { .. } | Self::Rejected { .. } | Self::Unauthorized { .. } | Self::Options { .. } => {
                Reason::ModelRefused
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

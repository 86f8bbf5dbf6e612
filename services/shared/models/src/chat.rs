//! Chat models: the [`Chat`] trait, an OpenAI-compatible HTTP client and an in-process implementation.

mod accepts;
#[cfg(any(feature = "openai", feature = "local-chat"))]
mod call;
mod choice;
#[cfg(feature = "openai")]
mod clock;
mod error;
mod failure;
#[cfg(feature = "openai")]
mod fallback;
#[cfg(feature = "openai")]
mod length;
#[cfg(feature = "local-chat")]
pub mod local;
#[cfg(any(feature = "openai", feature = "local-chat"))]
mod metrics;
#[cfg(feature = "openai")]
mod openai;
mod options;
mod receipt;

use std::ops::AddAssign;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

pub use accepts::Accepts;
pub use choice::LocalModel;
#[cfg(feature = "openai")]
pub use clock::ChainClock;
pub use error::ChatError;
pub use failure::ModelFailure;
#[cfg(feature = "openai")]
pub use openai::ChatProbe;
pub use options::{ChatOptions, Fallback};
pub use receipt::Receipt;

/// A chat completion model.
pub trait Chat: Send + Sync {
    /// The model's name on its server, for spans and usage.
    fn model(&self) -> &str;

    /// Returns the whole reply. Dropping the future cancels the call.
    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatReply, ChatError>>;

    /// Streams the reply: any number of [`ChatDelta::Text`] and [`ChatDelta::Logprobs`], then exactly one
    /// [`ChatDelta::Finished`]. An error is the last item. Dropping the stream cancels the call.
    fn stream(&self, request: ChatRequest) -> BoxStream<'static, Result<ChatDelta, ChatError>>;
}

/// A chat completion request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatRequest {
    /// The conversation so far, oldest first.
    pub messages: Vec<Message>,
    /// Sampling temperature, 0–2. Defaults to the client's setting.
    pub temperature: Option<f32>,
    /// Maximum reply length in tokens. Defaults to the client's setting, or to that of a schema with a long reply.
    pub max_tokens: Option<u32>,
    /// Sampling seed, for servers that support one. Defaults to the client's setting.
    pub seed: Option<u64>,
    /// Frequency penalty, −2 to 2: subtracted from a token's logit once per earlier occurrence in the reply. Defaults
    /// to the client's setting.
    pub frequency_penalty: Option<f32>,
    /// JSON schema of the reply (structured output).
    pub response_schema: Option<ResponseSchema>,
    /// Number of most likely alternatives to report per token, with log-probabilities, 0–20. 0 disables logprobs.
    pub top_logprobs: u8,
    /// Checks whether the caller can parse a whole reply. If not, the next fallback model is called, if there is one.
    pub accepts: Accepts,
    /// Allows an empty reply. Otherwise an empty reply is [`ChatError::BadReply`].
    pub may_be_empty: bool,
    /// Deadline of the caller. The client's own timeout also applies.
    pub deadline: Option<Instant>,
    /// Id of the prompt that rendered the messages, with language and version. Recorded in the span.
    pub prompt: Option<String>,
    /// The time of this request over all models of a chain, set by the chain.
    #[cfg(feature = "openai")]
    pub clock: Option<ChainClock>,
    /// The model that failed before, when this request goes to a fallback model.
    pub instead_of: Option<InsteadOf>,
    /// Counts the model calls that this request makes.
    pub receipt: Receipt,
}

/// A model whose failure made the client fall back to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsteadOf {
    /// The model's name.
    pub model: String,
    /// Why it failed: [`ChatError::error_type`].
    pub reason: &'static str,
}

impl ChatRequest {
    /// Creates a request with `messages` and the client's defaults.
    pub fn new(messages: Vec<Message>) -> Self {
        Self {
            messages,
            ..Self::default()
        }
    }
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// The author's role.
    pub role: Role,
    /// The text.
    pub content: String,
}

impl Message {
    /// Creates a system message.
    pub fn system(content: impl Into<String>) -> Self {
        Self {
            role: Role::System,
            content: content.into(),
        }
    }

    /// Creates a user message.
    pub fn user(content: impl Into<String>) -> Self {
        Self {
            role: Role::User,
            content: content.into(),
        }
    }

    /// Creates an assistant message.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self {
            role: Role::Assistant,
            content: content.into(),
        }
    }
}

/// The role of a message's author.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// A named JSON schema for structured output.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponseSchema {
    /// Letters, digits, `_` and `-`, at most 64.
    pub name: &'static str,
    /// A JSON schema in OpenAI's strict subset: all properties required, no additional properties.
    pub schema: Value,
    /// The longest reply that the schema allows, in tokens. It limits the reply where the server enforces the schema,
    /// unless the model turns out to reason before it replies.
    pub max_tokens: u32,
}

#[cfg(any(feature = "openai", feature = "local-chat"))]
impl ResponseSchema {
    /// Adds the schema to the system message, for models that do not support structured output.
    fn say(&self, messages: &mut Vec<Message>) {
        let words = format!(
            "Reply with one JSON object and nothing else. It must be valid against this JSON schema: {}",
            self.schema
        );
        match messages.first_mut() {
            Some(first) if first.role == Role::System => first.content = format!("{}\n\n{words}", first.content),
            _ => messages.insert(0, Message::system(words)),
        }
    }
}

/// A complete reply.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatReply {
    /// The text. Not empty unless [`ChatRequest::may_be_empty`] is set.
    pub text: String,
    /// The model that replied, as its server reports it. It may be more specific than the requested name.
    pub model: String,
    /// Token usage.
    pub usage: Usage,
    /// Why the model stopped.
    pub finish_reason: FinishReason,
    /// Log-probabilities per token. Empty unless requested and supported by the server.
    pub logprobs: Vec<TokenLogprobs>,
}

/// Token usage of one call. A count is 0 if the server did not report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Prompt tokens.
    pub input_tokens: u64,
    /// Completion tokens.
    pub output_tokens: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model ended its reply.
    Stop,
    /// `max_tokens` or the end of the context window was reached. Also where the server goes on: a reply is cut where it
    /// is longer than any text of `max_tokens` tokens, and the connection is closed.
    Length,
    /// The server's content filter stopped it.
    ContentFilter,
    /// Any other reason.
    Other,
}

impl FinishReason {
    /// The value recorded in `gen_ai.response.finish_reasons`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Other => "other",
        }
    }
}

/// One event of a streamed reply.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatDelta {
    /// More text. Never empty.
    Text(String),
    /// Log-probabilities of the tokens of the text that follows. Never empty, and sent only if requested and supported.
    Logprobs(Vec<TokenLogprobs>),
    /// The end of the reply.
    Finished {
        /// Why the model stopped.
        finish_reason: FinishReason,
        /// Token usage.
        usage: Usage,
    },
}

/// The log-probabilities of one token position.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenLogprobs {
    /// The sampled token.
    pub token: String,
    /// Its natural log-probability, ≤ 0.
    pub logprob: f64,
    /// The most likely tokens at this position. Usually includes the sampled token.
    pub top: Vec<(String, f64)>,
}

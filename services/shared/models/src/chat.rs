//! Chat models: one trait, an OpenAI-compatible implementation, one in this process, and a scripted one for tests.

mod accepts;
#[cfg(any(feature = "openai", feature = "local-chat"))]
mod call;
mod choice;
mod error;
#[cfg(feature = "openai")]
mod fallback;
#[cfg(feature = "local-chat")]
pub mod local;
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
pub use error::ChatError;
pub use options::{ApiKey, ChatOptions, Fallback};
pub use receipt::Receipt;

/// A model that continues a conversation.
pub trait Chat: Send + Sync {
    /// The model's name as its server knows it, for spans and usage.
    fn model(&self) -> &str;

    /// The whole reply at once. Dropping the future stops the call.
    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatReply, ChatError>>;

    /// The reply piece by piece: any number of [`ChatDelta::Text`] and [`ChatDelta::Logprobs`], then exactly one
    /// [`ChatDelta::Finished`]. An error is the last item. Dropping the stream stops the call.
    fn stream(&self, request: ChatRequest) -> BoxStream<'static, Result<ChatDelta, ChatError>>;
}

/// What to ask a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatRequest {
    /// The conversation so far, oldest first.
    pub messages: Vec<Message>,
    /// Sampling temperature, 0–2; the server's default when absent.
    pub temperature: Option<f32>,
    /// The reply's limit in tokens; the client's default when absent.
    pub max_tokens: Option<u32>,
    /// A seed for servers that can repeat a sample; the client's default when absent.
    pub seed: Option<u64>,
    /// What a token loses with each time it has been said already, −2 to 2; the client's default when absent.
    pub frequency_penalty: Option<f32>,
    /// The JSON schema that the reply must follow.
    pub response_schema: Option<ResponseSchema>,
    /// How many alternatives to report for each token with its log-probability, 0–20; 0 asks for none.
    pub top_logprobs: u8,
    /// Which whole replies the caller can read: another is a reason to ask the next model, where there is one.
    pub accepts: Accepts,
    /// Whether the model may end without a word. Elsewhere that is [`ChatError::BadReply`].
    pub may_be_empty: bool,
    /// When the reply is of no use any more. The client's own timeout holds besides.
    pub deadline: Option<Instant>,
    /// The prompt that the messages come from, with its language and version, for the call's span.
    pub prompt: Option<String>,
    /// The model that was asked before, where the one that gets this stands in for it.
    pub instead_of: Option<InsteadOf>,
    /// Where the calls that this request costs are counted.
    pub receipt: Receipt,
}

/// A model that was asked in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsteadOf {
    /// Its name.
    pub model: String,
    /// Why it gave no reply: [`ChatError::code`].
    pub reason: &'static str,
}

impl ChatRequest {
    /// A request with these messages and the client's defaults.
    pub fn new(messages: Vec<Message>) -> Self {
        Self {
            messages,
            ..Self::default()
        }
    }
}

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: String,
}

impl Message {
    /// An instruction to the model.
    pub fn system(content: impl Into<String>) -> Self {
        Self {
            role: Role::System,
            content: content.into(),
        }
    }

    /// What the user says.
    pub fn user(content: impl Into<String>) -> Self {
        Self {
            role: Role::User,
            content: content.into(),
        }
    }

    /// What the model said.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self {
            role: Role::Assistant,
            content: content.into(),
        }
    }
}

/// Who speaks in a conversation.
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

/// A JSON schema with the name under which a server caches it.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponseSchema {
    /// Letters, digits, `_` and `-`, at most 64.
    pub name: &'static str,
    /// A JSON schema in OpenAI's strict subset: every property required, no additional ones.
    pub schema: Value,
}

#[cfg(any(feature = "openai", feature = "local-chat"))]
impl ResponseSchema {
    /// Asks in words for what is not enforced.
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

/// A whole reply.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatReply {
    /// The text, never empty unless [`ChatRequest::may_be_empty`].
    pub text: String,
    /// The model that answered, which may be more exact than the one asked for.
    pub model: String,
    /// Tokens spent.
    pub usage: Usage,
    /// Why the model stopped.
    pub finish_reason: FinishReason,
    /// The reply's tokens with their alternatives; empty unless asked for and supported.
    pub logprobs: Vec<TokenLogprobs>,
}

/// Tokens of one call; 0 where the server did not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the messages.
    pub input_tokens: u64,
    /// Tokens of the reply.
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
    /// It was done.
    Stop,
    /// `max_tokens` or the context's end.
    Length,
    /// The server's content filter.
    ContentFilter,
    /// Something else.
    Other,
}

impl FinishReason {
    /// The name in `gen_ai.response.finish_reasons`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Other => "other",
        }
    }
}

/// A piece of a streamed reply.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatDelta {
    /// More text, never empty.
    Text(String),
    /// The tokens of the text that follows, never none; only where they were asked for and the server tells them.
    Logprobs(Vec<TokenLogprobs>),
    /// The end.
    Finished {
        /// Why the model stopped.
        finish_reason: FinishReason,
        /// Tokens spent.
        usage: Usage,
    },
}

/// One token of a reply and what could have stood in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenLogprobs {
    /// The token that was sampled.
    pub token: String,
    /// Its natural log-probability, ≤ 0.
    pub logprob: f64,
    /// The most probable tokens at this place, the sampled one usually among them.
    pub top: Vec<(String, f64)>,
}

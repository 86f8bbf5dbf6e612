//! Request and response bodies of `/chat/completions`.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::dialect::Feature;
use crate::chat::{ChatReply, ChatRequest, FinishReason, Message, TokenLogprobs, Usage};

/// How the reply format is requested, strictest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// With a JSON schema that the server enforces (structured output).
    JsonSchema,
    /// With the schema in the prompt, and JSON mode on the server.
    JsonObject,
    /// With the schema in the prompt, or without a schema.
    Text,
}

impl Format {
    /// The strictest format for `request` on a server with the features for which `has` is true.
    pub(super) fn of(request: &ChatRequest, has: impl Fn(Feature) -> bool) -> Self {
        if request.response_schema.is_none() {
            Self::Text
        } else if has(Feature::JsonSchema) {
            Self::JsonSchema
        } else if has(Feature::JsonObject) {
            Self::JsonObject
        } else {
            Self::Text
        }
    }

    /// The value recorded in spans.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::JsonSchema => "json_schema",
            Self::JsonObject => "json_object",
            Self::Text => "text",
        }
    }
}

/// Whether `request` uses `feature` on a server with the features for which `has` is true.
pub(super) fn uses(request: &ChatRequest, stream: bool, feature: Feature, has: impl Fn(Feature) -> bool) -> bool {
    let wanted = match feature {
        Feature::JsonSchema => return Format::of(request, &has) == Format::JsonSchema,
        Feature::JsonObject => return Format::of(request, &has) == Format::JsonObject,
        Feature::Logprobs => request.top_logprobs > 0,
        Feature::StreamOptions => stream,
        Feature::Temperature => request.temperature.is_some(),
        Feature::Seed => request.seed.is_some(),
        Feature::FrequencyPenalty => request.frequency_penalty.is_some(),
        Feature::MaxTokens => request.max_tokens.is_some(),
        Feature::ReplyLimit => Format::of(request, &has) == Format::JsonSchema,
    };
    wanted && has(feature)
}

/// A body to post. It borrows the prompt, which may be long.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_logprobs: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    messages: Cow<'a, [Message]>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponseFormat<'a> {
    JsonSchema { json_schema: JsonSchema<'a> },
    JsonObject,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'static str,
    strict: bool,
    schema: &'a Value,
}

/// The body to post to `model`, with the features for which `has` is true.
pub(super) fn body<'a>(
    request: &'a ChatRequest,
    stream: bool,
    model: &'a str,
    has: impl Fn(Feature) -> bool,
) -> Body<'a> {
    let used = |feature| uses(request, stream, feature, &has);
    let of_schema = request.response_schema.as_ref().map(|schema| schema.max_tokens);
    let limits = [request.max_tokens, of_schema.filter(|_| used(Feature::ReplyLimit))];
    let limit = limits.into_iter().flatten().min();
    let (max_tokens, max_completion_tokens) = if has(Feature::MaxTokens) {
        (limit, None)
    } else {
        (None, limit)
    };
    let has_logprobs = used(Feature::Logprobs);
    let mut messages = Cow::Borrowed(request.messages.as_slice());
    let mut response_format = None;
    if let Some(schema) = &request.response_schema {
        response_format = match Format::of(request, &has) {
            Format::JsonSchema => Some(ResponseFormat::JsonSchema {
                json_schema: JsonSchema {
                    name: schema.name,
                    strict: true,
                    schema: &schema.schema,
                },
            }),
            Format::JsonObject => Some(ResponseFormat::JsonObject),
            Format::Text => None,
        };
        if !used(Feature::JsonSchema) {
            schema.say(messages.to_mut());
        }
    }
    Body {
        model,
        stream,
        max_tokens,
        max_completion_tokens,
        temperature: request.temperature.filter(|_| used(Feature::Temperature)),
        stream_options: used(Feature::StreamOptions).then_some(StreamOptions { include_usage: true }),
        logprobs: has_logprobs.then_some(true),
        top_logprobs: has_logprobs.then(|| request.top_logprobs.min(20)),
        seed: request.seed.filter(|_| used(Feature::Seed)),
        frequency_penalty: request.frequency_penalty.filter(|_| used(Feature::FrequencyPenalty)),
        response_format,
        messages,
    }
}

/// A reply, with its log-probabilities as an `L`.
#[derive(Deserialize)]
struct Completion<L> {
    model: Option<String>,
    #[serde(default = "Vec::new")]
    choices: Vec<Choice<L>>,
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice<L> {
    /// `message` in complete replies, `delta` in streamed ones.
    #[serde(alias = "delta")]
    message: Option<Said>,
    finish_reason: Option<String>,
    logprobs: Option<L>,
}

#[derive(Deserialize)]
struct Said {
    content: Option<Value>,
    refusal: Option<String>,
    /// The model's reasoning. The field name differs between servers.
    reasoning: Option<Value>,
    reasoning_content: Option<Value>,
}

impl Completion<Value> {
    /// With the log-probabilities that are written as the protocol says, and without the others.
    fn readable(self) -> Completion<Logprobs> {
        let choices = self.choices.into_iter().map(|choice| Choice {
            message: choice.message,
            finish_reason: choice.finish_reason,
            logprobs: choice
                .logprobs
                .and_then(|logprobs| serde_json::from_value(logprobs).ok()),
        });
        Completion {
            model: self.model,
            choices: choices.collect(),
            usage: self.usage,
            error: self.error,
        }
    }
}

impl Said {
    fn thinks(&self) -> bool {
        let thoughts = [&self.reasoning, &self.reasoning_content];
        thoughts
            .into_iter()
            .filter_map(|thought| thought.as_ref()?.as_str())
            .any(|thought| !thought.is_empty())
    }
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Logprobs {
    content: Option<Vec<Logprob>>,
}

#[derive(Deserialize)]
struct Logprob {
    token: String,
    /// Some servers send null for −∞, which JSON cannot represent.
    logprob: Option<f64>,
    top_logprobs: Option<Vec<Alternative>>,
}

#[derive(Deserialize)]
struct Alternative {
    token: String,
    logprob: Option<f64>,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        Self {
            input_tokens: tokens.prompt_tokens.unwrap_or_default(),
            output_tokens: tokens.completion_tokens.unwrap_or_default(),
        }
    }
}

/// Why a response body is not a valid reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// The model refused to answer.
    Refusal(String),
    /// The reply was cut before its first word.
    Cut(String),
    /// The body violates the protocol.
    Malformed(String),
}

/// One event of a streamed reply.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Piece {
    pub(super) model: Option<String>,
    pub(super) text: String,
    pub(super) logprobs: Vec<TokenLogprobs>,
    pub(super) finish_reason: Option<FinishReason>,
    pub(super) usage: Option<Usage>,
}

/// Parses a complete reply. `asked` is the requested model; `may_be_empty` allows an empty reply.
pub(super) fn reply(body: &[u8], asked: &str, may_be_empty: bool) -> Result<ChatReply, Problem> {
    let completion = completion(body)?;
    let choice = completion
        .choices
        .into_iter()
        .next()
        .ok_or_else(|| Problem::Malformed("it has no choices".to_owned()))?;
    let said = choice
        .message
        .ok_or_else(|| Problem::Malformed("its choice has no message".to_owned()))?;
    let text = spoken(said)?;
    let finish_reason = choice.finish_reason.as_deref().map_or(FinishReason::Other, reason);
    if text.trim().is_empty() && finish_reason == FinishReason::ContentFilter {
        return Err(Problem::Refusal("the content filter".to_owned()));
    }
    if text.trim().is_empty() && !(may_be_empty && ended(finish_reason)) {
        let why = format!("it is empty and finished with `{}`", finish_reason.as_str());
        return Err(if finish_reason == FinishReason::Length {
            Problem::Cut(why)
        } else {
            Problem::Malformed(why)
        });
    }
    Ok(ChatReply {
        text,
        model: completion
            .model
            .filter(|model| !model.is_empty())
            .unwrap_or_else(|| asked.to_owned()),
        usage: completion.usage.map(Usage::from).unwrap_or_default(),
        finish_reason,
        logprobs: places(choice.logprobs),
    })
}

/// The token usage of a body that is not a valid reply. Zero if it contains none.
pub(super) fn spent(body: &[u8]) -> Usage {
    let completion: Option<Completion<IgnoredAny>> = serde_json::from_slice(body).ok();
    completion
        .and_then(|completion| completion.usage)
        .map(Usage::from)
        .unwrap_or_default()
}

/// Parses one event of a stream.
pub(super) fn piece(data: &[u8]) -> Result<Piece, Problem> {
    let completion = completion(data)?;
    let mut piece = Piece {
        model: completion.model,
        usage: completion.usage.map(Usage::from),
        ..Piece::default()
    };
    // The last event has the usage and no choices.
    if let Some(choice) = completion.choices.into_iter().next() {
        piece.finish_reason = choice.finish_reason.as_deref().map(reason);
        let thinks = choice.message.as_ref().is_some_and(Said::thinks);
        if !thinks {
            // Some servers also send logprobs of reasoning tokens, which are not part of the text.
            piece.logprobs = places(choice.logprobs);
        }
        if let Some(said) = choice.message {
            piece.text = spoken(said)?;
        }
    }
    Ok(piece)
}

fn completion(body: &[u8]) -> Result<Completion<Logprobs>, Problem> {
    // Servers write log-probabilities in more than one way, and one that cannot be read must not cost the reply.
    let read = serde_json::from_slice(body).or_else(|_| serde_json::from_slice(body).map(Completion::readable));
    let completion: Completion<Logprobs> = read.map_err(|error| {
        let opening: String = String::from_utf8_lossy(body).chars().take(80).collect();
        Problem::Malformed(format!("it is not a chat completion ({error}): {opening}"))
    })?;
    match completion.error {
        Some(error) if !error.is_null() => Err(Problem::Malformed(format!("the server reports {}", words(&error)))),
        _ => Ok(completion),
    }
}

/// The text of a message. The content is a string, a list of parts, or absent.
fn spoken(said: Said) -> Result<String, Problem> {
    if let Some(refusal) = said.refusal.filter(|refusal| !refusal.is_empty()) {
        return Err(Problem::Refusal(refusal));
    }
    Ok(match said.content {
        Some(Value::String(text)) => text,
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text").and_then(Value::as_str))
            .collect(),
        _ => String::new(),
    })
}

fn reason(name: &str) -> FinishReason {
    match name {
        "stop" | "eos" | "end_turn" => FinishReason::Stop,
        "length" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        _ => FinishReason::Other,
    }
}

/// Whether the model ended the reply by itself, so that an empty reply is intended.
pub(super) fn ended(reason: FinishReason) -> bool {
    matches!(reason, FinishReason::Stop | FinishReason::Other)
}

/// The tokens that have a log-probability.
fn places(logprobs: Option<Logprobs>) -> Vec<TokenLogprobs> {
    let tokens = logprobs.and_then(|logprobs| logprobs.content).unwrap_or_default();
    tokens.into_iter().filter_map(place).collect()
}

fn place(logprob: Logprob) -> Option<TokenLogprobs> {
    let top = logprob.top_logprobs.unwrap_or_default();
    Some(TokenLogprobs {
        token: logprob.token,
        logprob: logprob.logprob?,
        top: top
            .into_iter()
            .filter_map(|other| Some((other.token, other.logprob?)))
            .collect(),
    })
}

/// The message of an error object. The nesting differs between servers.
pub(super) fn words(error: &Value) -> String {
    let found = [
        error.pointer("/error/message"),
        error.get("message"),
        error.get("error"),
        error.get("detail"),
    ];
    match found.into_iter().flatten().next().unwrap_or(error) {
        Value::String(message) => message.clone(),
        other => other.to_string(),
    }
}

//! A client of `/v1/chat/completions`, as served by OpenAI, vLLM, SGLang, Ollama and llama.cpp.

mod dialect;
mod http;
mod limit;
mod probe;
mod sse;
mod stream;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use emend_core::Secret;
use emend_core::without_secrets;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use tokio::time::Instant;
use tracing::Instrument;

use super::call::{self, Caller};
use super::fallback::Chain;
use super::length::Room;
use super::{Chat, ChatDelta, ChatError, ChatOptions, ChatReply, ChatRequest, Fallback, FinishReason};
use dialect::{Dialect, Feature};
use limit::Limit;
pub use probe::ChatProbe;

impl ChatOptions {
    /// Creates the client of the model of `--llm-url`, with its fallback models. `None` without `--llm-url`.
    ///
    /// No request is sent: connection errors appear at the first call.
    ///
    /// # Errors
    /// The errors of [`ChatOptions::check`], and [`ChatError::Options`] if a URL is invalid or `--llm-model` is
    /// missing.
    pub fn connect(&self) -> Result<Option<Arc<dyn Chat>>, ChatError> {
        self.check()?;
        let Some(url) = &self.llm_url else { return Ok(None) };
        let first = OpenAi::new(self, url)?;
        let keys = self.fallback_keys()?;
        let keys = keys.iter().map(Some).chain(std::iter::repeat(None));
        let others: Vec<Arc<dyn Chat>> = self
            .llm_fallback
            .iter()
            .zip(keys)
            .map(|(fallback, key)| Ok(Arc::new(first.beside(self, fallback, key)?) as Arc<dyn Chat>))
            .collect::<Result<_, ChatError>>()?;
        Ok(Some(if others.is_empty() {
            Arc::new(first)
        } else {
            Arc::new(Chain::new(Arc::new(first), others, self.llm_timeout))
        }))
    }
}

/// A client of one model on one server. Cheap to clone.
#[derive(Clone)]
pub(super) struct OpenAi {
    inner: Arc<Inner>,
}

struct Inner {
    http: reqwest::Client,
    endpoint: reqwest::Url,
    model: String,
    key: Option<Secret>,
    caller: Caller,
    timeout: Duration,
    dialect: Dialect,
    limit: Arc<Limit>,
}

impl OpenAi {
    /// Creates the client of the model of `--llm-url`.
    pub(super) fn new(options: &ChatOptions, url: &str) -> Result<Self, ChatError> {
        let endpoint = endpoint(url).map_err(|reason| invalid("--llm-url", reason))?;
        let model = options
            .llm_model
            .clone()
            .filter(|model| !model.trim().is_empty())
            .ok_or_else(|| {
                invalid(
                    "--llm-model",
                    format!("name the model that {} serves", endpoint.host_str().unwrap_or_default()),
                )
            })?;
        let key = options.api_key()?;
        Self::at(options, endpoint, model, key).map_err(|reason| invalid("--llm-url", reason))
    }

    /// Creates the client of a fallback model. Without a `key`, it uses the key of this model if the origin is the
    /// same, and otherwise none: a key is only sent to the server that it was given for.
    fn beside(&self, options: &ChatOptions, fallback: &Fallback, key: Option<&Secret>) -> Result<Self, ChatError> {
        let endpoint = endpoint(&fallback.url).map_err(|reason| invalid("--llm-fallback", reason))?;
        let is_same = endpoint.origin() == self.inner.endpoint.origin();
        let own = key.filter(|key| !key.reveal().is_empty());
        let key = own.or(self.inner.key.as_ref().filter(|_| is_same)).cloned();
        Self::at(options, endpoint, fallback.model.clone(), key).map_err(|reason| invalid("--llm-fallback", reason))
    }

    fn at(options: &ChatOptions, endpoint: reqwest::Url, model: String, key: Option<Secret>) -> Result<Self, String> {
        let mut builder = emend_core::http::builder().connect_timeout(Duration::from_secs(10));
        if matches!(endpoint.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")) {
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|error| format!("no HTTP client: {error}"))?;
        let server = (
            endpoint.host_str().unwrap_or_default().to_owned(),
            endpoint.port_or_known_default().unwrap_or_default(),
        );
        Ok(Self {
            inner: Arc::new(Inner {
                http,
                endpoint,
                model,
                key,
                caller: Caller::new(options, "openai", Some(server)),
                timeout: options.llm_timeout,
                dialect: Dialect::default(),
                limit: Limit::new(options.llm_concurrency.get(), options.llm_timeout),
            }),
        })
    }
}

fn invalid(option: &'static str, reason: String) -> ChatError {
    ChatError::Options { option, reason }
}

impl Chat for OpenAi {
    fn model(&self) -> &str {
        &self.inner.model
    }

    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatReply, ChatError>> {
        let request = self.inner.caller.completed(request);
        let span = self.inner.caller.span(&self.inner.model, &request);
        async move {
            let began = Instant::now();
            let reply = self.inner.complete(&request).await;
            let usage = reply.as_ref().map(|reply| reply.usage);
            self.inner.caller.measured(&self.inner.model, began, usage);
            match &reply {
                Ok(ChatReply {
                    text,
                    model,
                    usage,
                    finish_reason,
                    ..
                }) => self.inner.caller.replied(model, *finish_reason, *usage, text),
                Err(error) => call::failed(error),
            }
            reply
        }
        .instrument(span)
        .boxed()
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'static, Result<ChatDelta, ChatError>> {
        let request = self.inner.caller.completed(request);
        let span = self.inner.caller.span(&self.inner.model, &request);
        stream::deltas(Arc::clone(&self.inner), request, span).boxed()
    }
}

impl Inner {
    fn timeout(&self) -> ChatError {
        ChatError::Timeout {
            model: self.model.clone(),
        }
    }

    fn bad_reply(&self, reason: impl Into<String>) -> ChatError {
        ChatError::BadReply {
            model: self.model.clone(),
            reason: self.redact(&reason.into()),
        }
    }

    /// Redacts the API key in a message of the server and truncates it to 500 characters.
    fn redact(&self, words: &str) -> String {
        let safe = match &self.key {
            Some(key) if !key.reveal().is_empty() => words.replace(key.reveal(), "***"),
            _ => words.to_owned(),
        };
        safe.chars().take(500).collect::<String>().trim().to_owned()
    }

    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply, ChatError> {
        let (mut slot, until) = self.enter(request).await?;
        let deadline = until.first;
        let call = async {
            loop {
                // Holds the concurrency slot until the body is read.
                let (response, held) = self.send(request, false, (slot, deadline)).await?;
                let body = self.body(response).await?;
                let mut reply = wire::reply(&body, &self.model, request.may_be_empty);
                if let Ok(reply) = &mut reply
                    && !Room::of(request.max_tokens).take(&mut reply.text)
                {
                    reply.finish_reason = FinishReason::Length;
                }
                // A reply that has begun with its JSON is longer than the schema allows; more room would not end it.
                let is_reasoning = match &reply {
                    Ok(reply) => {
                        reply.finish_reason == FinishReason::Length && !reply.text.trim_start().starts_with('{')
                    }
                    Err(problem) => matches!(problem, wire::Problem::Cut(_)),
                };
                if is_reasoning && wire::uses(request, false, Feature::ReplyLimit, |feature| self.dialect.has(feature))
                {
                    self.dialect.reasons();
                    request.receipt.wasted(wire::spent(&body));
                    slot = held;
                    continue;
                }
                return reply.map_err(|problem| {
                    request.receipt.wasted(wire::spent(&body));
                    match problem {
                        wire::Problem::Refusal(reason) => ChatError::Refused {
                            model: self.model.clone(),
                            reason: self.redact(&reason),
                        },
                        wire::Problem::Cut(reason) | wire::Problem::Malformed(reason) => self.bad_reply(reason),
                    }
                });
            }
        };
        tokio::time::timeout_at(deadline, call)
            .await
            .unwrap_or_else(|_| Err(self.timeout()))
    }
}

/// The URL of the endpoint. Adds `/v1` unless the path contains a version, and `/chat/completions` unless present.
fn endpoint(base: &str) -> Result<reqwest::Url, String> {
    let base = base.trim();
    let shown = || without_secrets(base);
    let mut url = reqwest::Url::parse(base)
        .map_err(|error| format!("`{}` is not a URL ({error}); write http://host:port/v1", shown()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(format!("`{}` is not an http or https URL", shown()));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    let versioned = path
        .split('/')
        .any(|part| part.starts_with('v') && part[1..].starts_with(|c: char| c.is_ascii_digit()));
    let version = if versioned { "" } else { "/v1" };
    if !path.ends_with("/chat/completions") {
        url.set_path(&format!("{path}{version}/chat/completions"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests;

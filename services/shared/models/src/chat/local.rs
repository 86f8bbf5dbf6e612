//! In-process inference of GGUF chat models on the CPU.
//!
//! A model runs one call at a time, because each call uses all cores. Other calls wait in a FIFO queue. A call stops
//! within one layer of the model when it is cancelled or its deadline has passed.

mod attention;
mod decoder;
mod engine;
mod family;
mod gguf;
mod load;
mod rope;
mod sampling;
mod template;
#[cfg(test)]
mod tests;
mod tokens;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::Instrument;

use super::call::{self, Caller};
use super::{Chat, ChatDelta, ChatError, ChatOptions, ChatReply, ChatRequest, FinishReason, Receipt, Usage};
use crate::fetch::FetchError;
use engine::{Engine, Plan};

pub use load::load;

/// A local model could not be loaded.
#[derive(Debug, thiserror::Error)]
enum LoadError {
    /// The file could not be fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The file is damaged or not a valid model.
    #[error("{} cannot be used: {detail}", path.display())]
    Corrupt { path: PathBuf, detail: String },
    /// The model's architecture is not supported.
    #[error("{} has the unsupported architecture `{found}`; known: {known}", path.display())]
    Architecture {
        path: PathBuf,
        found: String,
        known: String,
    },
    /// The model's tokenizer is not supported.
    #[error("{} has the unsupported tokenizer `{found}`; known: {known}", path.display())]
    Tokenizer {
        path: PathBuf,
        found: String,
        known: String,
    },
}

impl LoadError {
    fn corrupt(path: &Path, detail: impl ToString) -> Self {
        Self::Corrupt {
            path: path.to_owned(),
            detail: detail.to_string(),
        }
    }
}

/// A chat model that runs in this process, with one client's request defaults. Cheap to clone: the weights are shared.
#[derive(Clone)]
pub struct LocalChat {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Arc<Engine>,
    caller: Caller,
    timeout: Duration,
}

impl LocalChat {
    /// The context length in tokens, shared by the prompt and the reply.
    pub fn context(&self) -> usize {
        self.inner.engine.context()
    }

    /// Bytes of weights read per generated token. Memory bandwidth divided by this is the upper bound of tokens/s.
    pub fn bytes_per_token(&self) -> usize {
        self.inner.engine.bytes()
    }

    fn new(engine: Arc<Engine>, options: &ChatOptions) -> Self {
        Self {
            inner: Arc::new(Inner {
                engine,
                caller: Caller::new(options, "candle", None),
                timeout: options.llm_timeout,
            }),
        }
    }
}

impl Chat for LocalChat {
    fn model(&self) -> &str {
        self.inner.engine.name()
    }

    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatReply, ChatError>> {
        let request = self.inner.caller.completed(request);
        let span = self.inner.caller.span(self.model(), &request);
        async move {
            let mut call = Call::new(Arc::clone(&self.inner), request);
            let mut reply = ChatReply {
                text: String::new(),
                model: self.model().to_owned(),
                usage: Usage::default(),
                finish_reason: FinishReason::Other,
                logprobs: Vec::new(),
            };
            while let Some(delta) = call.next().await {
                match delta? {
                    ChatDelta::Text(text) => reply.text.push_str(&text),
                    ChatDelta::Logprobs(tokens) => reply.logprobs.extend(tokens),
                    ChatDelta::Finished { finish_reason, usage } => {
                        (reply.finish_reason, reply.usage) = (finish_reason, usage);
                    }
                }
            }
            Ok(reply)
        }
        .instrument(span)
        .boxed()
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'static, Result<ChatDelta, ChatError>> {
        let request = self.inner.caller.completed(request);
        let span = self.inner.caller.span(self.model(), &request);
        let call = Call::new(Arc::clone(&self.inner), request);
        stream::unfold((call, span), |(mut call, span)| async move {
            let delta = call.next().instrument(span.clone()).await?;
            Some((delta, (call, span)))
        })
        .boxed()
    }
}

type Deltas = mpsc::UnboundedReceiver<Result<ChatDelta, ChatError>>;

/// One call. It starts lazily, when the first delta is polled.
struct Call {
    inner: Arc<Inner>,
    deadline: Instant,
    state: State,
    may_be_empty: bool,
    receipt: Receipt,
    text: String,
    began: Instant,
}

enum State {
    Pending(Box<ChatRequest>),
    /// The channel is unbounded because `max_tokens` already bounds the number of deltas. Closing it cancels the
    /// computation.
    Streaming(Deltas),
    Done,
}

impl Call {
    fn new(inner: Arc<Inner>, request: ChatRequest) -> Self {
        let began = Instant::now();
        let timeout = began + inner.timeout;
        Self {
            began,
            deadline: request.deadline.map_or(timeout, |deadline| deadline.min(timeout)),
            may_be_empty: request.may_be_empty,
            receipt: request.receipt.clone(),
            state: State::Pending(Box::new(request)),
            text: String::new(),
            inner,
        }
    }

    async fn next(&mut self) -> Option<Result<ChatDelta, ChatError>> {
        let delta = match self.step().await {
            Ok(delta) => self.checked(delta?),
            Err(error) => Err(error),
        };
        match &delta {
            Ok(ChatDelta::Finished { finish_reason, usage }) => {
                let model = self.inner.engine.name();
                self.inner.caller.replied(model, *finish_reason, *usage, &self.text);
                self.inner.caller.measured(model, self.began, Ok(*usage));
                self.state = State::Done;
            }
            Ok(_) => {}
            Err(error) => {
                call::failed(error);
                let model = self.inner.engine.name();
                self.inner.caller.measured(model, self.began, Err(error));
                self.state = State::Done;
            }
        }
        Some(delta)
    }

    /// Starts the call if necessary and waits for the next delta. Returns `None` when the call is done.
    async fn step(&mut self) -> Result<Option<ChatDelta>, ChatError> {
        let engine = &self.inner.engine;
        let timeout = || ChatError::Timeout {
            model: engine.name().to_owned(),
        };
        if let State::Pending(request) = &mut self.state {
            let request = std::mem::take(&mut **request);
            request.receipt.called();
            request.receipt.answered(engine.name());
            // The schema is only part of the prompt: decoding is not constrained.
            call::asked_for("text");
            let plan = Plan {
                deadline: self.deadline.into_std(),
                request,
            };
            let start = tokio::time::timeout_at(self.deadline, Arc::clone(engine).start(plan));
            self.state = State::Streaming(start.await.map_err(|_| timeout())?);
        }
        let State::Streaming(deltas) = &mut self.state else {
            return Ok(None);
        };
        // `timeout_at` polls the channel first: without this check, buffered deltas would be read past the deadline.
        if Instant::now() >= self.deadline {
            return Err(timeout());
        }
        let delta = tokio::time::timeout_at(self.deadline, deltas.recv()).await;
        let delta = delta.map_err(|_| timeout())?;
        delta
            .unwrap_or_else(|| Err(engine.bad_reply("the inference thread ended without a reply")))
            .map(Some)
    }

    /// Collects the reply's text and rejects an empty reply unless [`ChatRequest::may_be_empty`] is set.
    fn checked(&mut self, delta: ChatDelta) -> Result<ChatDelta, ChatError> {
        match &delta {
            ChatDelta::Text(text) => self.text.push_str(text),
            ChatDelta::Logprobs(_) => {}
            ChatDelta::Finished { finish_reason, usage } => {
                let empty_allowed = self.may_be_empty && *finish_reason == FinishReason::Stop;
                if self.text.trim().is_empty() && !empty_allowed {
                    self.receipt.wasted(*usage);
                    let reason = format!("empty reply with finish reason `{}`", finish_reason.as_str());
                    return Err(self.inner.engine.bad_reply(&reason));
                }
            }
        }
        Ok(delta)
    }
}

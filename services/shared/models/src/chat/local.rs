//! Chat models in GGUF files, in this process and on the processor.
//!
//! One call at a time computes on a model: each uses all the cores that there are. The others wait in order. A call
//! stops within a layer of the model when its reply is not wanted any more or its deadline has passed.

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

/// Why a local model cannot be used.
#[derive(Debug, thiserror::Error)]
enum LoadError {
    /// Its file cannot be had.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The file is damaged, or not what it should be.
    #[error("{} cannot be used: {detail}", path.display())]
    Corrupt { path: PathBuf, detail: String },
    /// A kind of model that is not known here.
    #[error("{} has the architecture `{found}`, which is not supported; known: {known}", path.display())]
    Architecture {
        path: PathBuf,
        found: String,
        known: String,
    },
    /// A tokenizer that is not known here.
    #[error("{} has the tokenizer `{found}`, which is not supported; known: {known}", path.display())]
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

/// A model of this process, with the defaults of one caller. Cheap to clone; the weights are shared.
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
    /// The most tokens of a prompt and its reply together.
    pub fn context(&self) -> usize {
        self.inner.engine.context()
    }

    /// Bytes of weights that are read for every token of a reply: what memory has to deliver, and so the limit of speed.
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

/// A call: nothing happens before its first delta is asked for.
struct Call {
    inner: Arc<Inner>,
    deadline: Instant,
    state: State,
    may_be_empty: bool,
    receipt: Receipt,
    text: String,
}

enum State {
    Asking(Box<ChatRequest>),
    /// No more deltas than the reply may have tokens: the channel needs no limit of its own, and closing it is how the
    /// computation learns that nobody listens.
    Reading(Deltas),
    Over,
}

impl Call {
    fn new(inner: Arc<Inner>, request: ChatRequest) -> Self {
        let own = Instant::now() + inner.timeout;
        Self {
            deadline: request.deadline.map_or(own, |deadline| deadline.min(own)),
            may_be_empty: request.may_be_empty,
            receipt: request.receipt.clone(),
            state: State::Asking(Box::new(request)),
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
                self.state = State::Over;
            }
            Ok(_) => {}
            Err(error) => {
                call::failed(error);
                self.state = State::Over;
            }
        }
        Some(delta)
    }

    /// The next delta as it comes; none when it is over.
    async fn step(&mut self) -> Result<Option<ChatDelta>, ChatError> {
        let engine = &self.inner.engine;
        let timeout = || ChatError::Timeout {
            model: engine.name().to_owned(),
        };
        if let State::Asking(request) = &mut self.state {
            let request = std::mem::take(&mut **request);
            request.receipt.called();
            request.receipt.answered(engine.name());
            // A schema is said in words: nothing here enforces one.
            call::asked_for("text");
            let plan = Plan {
                deadline: self.deadline.into_std(),
                request,
            };
            let start = tokio::time::timeout_at(self.deadline, Arc::clone(engine).start(plan));
            self.state = State::Reading(start.await.map_err(|_| timeout())?);
        }
        let State::Reading(deltas) = &mut self.state else {
            return Ok(None);
        };
        // Deltas that are there already would otherwise be read past the deadline.
        if Instant::now() >= self.deadline {
            return Err(timeout());
        }
        let delta = tokio::time::timeout_at(self.deadline, deltas.recv()).await;
        let delta = delta.map_err(|_| timeout())?;
        delta
            .unwrap_or_else(|| Err(engine.bad_reply("its thread ended without an answer")))
            .map(Some)
    }

    fn checked(&mut self, delta: ChatDelta) -> Result<ChatDelta, ChatError> {
        match &delta {
            ChatDelta::Text(text) => self.text.push_str(text),
            ChatDelta::Logprobs(_) => {}
            ChatDelta::Finished { finish_reason, usage } => {
                let meant = self.may_be_empty && *finish_reason == FinishReason::Stop;
                if self.text.trim().is_empty() && !meant {
                    self.receipt.wasted(*usage);
                    let why = format!("it is empty and finished with `{}`", finish_reason.as_str());
                    return Err(self.inner.engine.bad_reply(&why));
                }
            }
        }
        Ok(delta)
    }
}

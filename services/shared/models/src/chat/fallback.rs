//! A chain of fallback models: when one fails, the next is called.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use tokio::time::Instant;

use super::{ChainClock, Chat, ChatDelta, ChatError, ChatReply, ChatRequest, InsteadOf};

/// Calls its first model, and falls back to each further model once, in order, until the deadline. One timeout holds for all of
/// them together: see [`ChainClock`].
///
/// A model falls through to the next when it is unavailable, rate limited beyond the deadline, too slow, refuses, or
/// sends a bad reply or one that the caller does not accept. A rejected request (4xx) is final, and so is a stream that
/// has begun to send text.
pub(super) struct Chain {
    first: Arc<dyn Chat>,
    others: Arc<[Arc<dyn Chat>]>,
    timeout: Duration,
}

impl Chain {
    /// Creates a chain of `first`, then `others` in order, which together have `timeout` for a request.
    pub(super) fn new(first: Arc<dyn Chat>, others: Vec<Arc<dyn Chat>>, timeout: Duration) -> Self {
        Self {
            first,
            others: others.into(),
            timeout,
        }
    }

    fn state(&self, mut request: ChatRequest) -> FallbackState {
        request.clock = Some(ChainClock::new(self.timeout, 1 + self.others.len()));
        FallbackState {
            request,
            others: self.others.iter().cloned().collect(),
            reported: None,
            unaccepted: None,
        }
    }
}

impl Chat for Chain {
    fn model(&self) -> &str {
        self.first.model()
    }

    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatReply, ChatError>> {
        let mut state = self.state(request);
        async move {
            let mut model = Arc::clone(&self.first);
            loop {
                let error = match model.complete(state.request.clone()).await {
                    Ok(reply) => match state.check(model.model(), reply) {
                        Ok(reply) => return Ok(reply),
                        Err(error) => error,
                    },
                    Err(error) => error,
                };
                model = match state.next(model.model(), error) {
                    Ok(next) => next,
                    Err(error) => return state.unaccepted.ok_or(error),
                };
            }
        }
        .boxed()
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'static, Result<ChatDelta, ChatError>> {
        let mut state = self.state(request);
        let mut model = Arc::clone(&self.first);
        let mut deltas = model.stream(state.request.clone());
        stream::once(async move {
            loop {
                let error = match buffer_until_text(deltas).await {
                    Ok(deltas) => return deltas,
                    Err(error) => error,
                };
                model = match state.next(model.model(), error) {
                    Ok(next) => next,
                    Err(error) => return stream::iter([Err(error)]).boxed(),
                };
                deltas = model.stream(state.request.clone());
            }
        })
        .flatten()
        .boxed()
    }
}

/// The state of one request while it moves along the chain.
struct FallbackState {
    request: ChatRequest,
    others: VecDeque<Arc<dyn Chat>>,
    /// The most informative error so far.
    reported: Option<ChatError>,
    /// The last reply that the caller did not accept. Its usage is in the receipt.
    unaccepted: Option<ChatReply>,
}

impl FallbackState {
    /// Returns the reply of `model` if the caller accepts it, and [`ChatError::BadReply`] otherwise.
    fn check(&mut self, model: &str, mut reply: ChatReply) -> Result<ChatReply, ChatError> {
        if self.request.accepts.reads(&reply) {
            return Ok(reply);
        }
        self.request.receipt.wasted(std::mem::take(&mut reply.usage));
        self.unaccepted = Some(reply);
        Err(ChatError::BadReply {
            model: model.to_owned(),
            reason: "the reply does not have the requested form".to_owned(),
        })
    }

    /// Returns the model to call after `failed` returned `error`, or the error to report if there is none.
    fn next(&mut self, failed: &str, error: ChatError) -> Result<Arc<dyn Chat>, ChatError> {
        let next = if may_fall_back(&error, self.request.deadline) {
            self.others.pop_front()
        } else {
            None
        };
        if let Some(clock) = &mut self.request.clock {
            clock.next_model();
        }
        if let Some(next) = &next {
            tracing::warn!(%error, model = next.model(), "falling back to the next chat model");
        }
        self.request.instead_of = Some(InsteadOf {
            model: failed.to_owned(),
            reason: error.error_type(),
        });
        let reported = match self.reported.take() {
            // The error of a model that was reached says more about the request than that of an unavailable one.
            Some(before) if is_no_reply(&before) && !is_no_reply(&error) => before,
            _ => error,
        };
        match next {
            Some(next) => {
                self.reported = Some(reported);
                Ok(next)
            }
            None => Err(reported),
        }
    }
}

/// Buffers the deltas up to the first text or the end, then returns the whole stream. Nothing has reached the caller
/// until then, so another model can still start the reply over.
async fn buffer_until_text(
    mut deltas: BoxStream<'static, Result<ChatDelta, ChatError>>,
) -> Result<BoxStream<'static, Result<ChatDelta, ChatError>>, ChatError> {
    let mut buffered = Vec::new();
    while let Some(delta) = deltas.next().await {
        let delta = delta?;
        let started = match &delta {
            ChatDelta::Text(text) => !text.trim().is_empty(),
            ChatDelta::Logprobs(_) => false,
            ChatDelta::Finished { .. } => true,
        };
        buffered.push(Ok(delta));
        if started {
            break;
        }
    }
    Ok(stream::iter(buffered).chain(deltas).boxed())
}

/// Whether the error allows a fallback and the deadline has not passed.
fn may_fall_back(error: &ChatError, deadline: Option<Instant>) -> bool {
    let unavailable = matches!(
        error,
        ChatError::Unavailable { .. } | ChatError::RateLimited { .. } | ChatError::Timeout { .. }
    );
    (unavailable || is_no_reply(error)) && deadline.is_none_or(|deadline| Instant::now() < deadline)
}

/// Whether the model accepted the request but gave no usable reply.
fn is_no_reply(error: &ChatError) -> bool {
    matches!(error, ChatError::BadReply { .. } | ChatError::Refused { .. })
}

//! Several models in a row: the next one is asked where one has no reply.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use tokio::time::Instant;

use super::{Chat, ChatDelta, ChatError, ChatReply, ChatRequest, InsteadOf};

/// Asks its first model, and each further one once where those before it are down, limit the rate beyond the deadline, do
/// not answer in time, refuse, send what is no reply or none that the caller can read, as long as time is left. A model
/// that rejects a request has the last word, and so has one that has begun to speak.
pub(super) struct Chain {
    first: Arc<dyn Chat>,
    others: Arc<[Arc<dyn Chat>]>,
}

impl Chain {
    /// `first`, then `others` in their order.
    pub(super) fn new(first: Arc<dyn Chat>, others: Vec<Arc<dyn Chat>>) -> Self {
        Self {
            first,
            others: others.into(),
        }
    }

    fn state(&self, request: ChatRequest) -> FallbackState {
        FallbackState {
            request,
            others: self.others.iter().cloned().collect(),
            told: None,
            unread: None,
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
                    Ok(reply) => match state.read(model.model(), reply) {
                        Ok(reply) => return Ok(reply),
                        Err(unread) => unread,
                    },
                    Err(error) => error,
                };
                model = match state.next(model.model(), error) {
                    Ok(next) => next,
                    Err(error) => return state.unread.ok_or(error),
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
                let error = match begun(deltas).await {
                    Ok(speaking) => return speaking,
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

/// A request on its way from model to model.
struct FallbackState {
    request: ChatRequest,
    others: VecDeque<Arc<dyn Chat>>,
    /// The weightiest of the failures so far.
    told: Option<ChatError>,
    /// The last of the replies that the caller cannot read; what it cost is in the receipt.
    unread: Option<ChatReply>,
}

impl FallbackState {
    /// The reply of `model`, where the caller can read it.
    fn read(&mut self, model: &str, mut reply: ChatReply) -> Result<ChatReply, ChatError> {
        if self.request.accepts.reads(&reply) {
            return Ok(reply);
        }
        self.request.receipt.wasted(std::mem::take(&mut reply.usage));
        self.unread = Some(reply);
        Err(ChatError::BadReply {
            model: model.to_owned(),
            reason: "it is not what was asked for".to_owned(),
        })
    }

    /// The model to ask now that `failed` has failed so; the error to tell where there is none.
    fn next(&mut self, failed: &str, error: ChatError) -> Result<Arc<dyn Chat>, ChatError> {
        let next = if may_fall_back(&error, self.request.deadline) {
            self.others.pop_front()
        } else {
            None
        };
        if let Some(next) = &next {
            tracing::warn!(%error, model = next.model(), "asking the next chat model");
        }
        self.request.instead_of = Some(InsteadOf {
            model: failed.to_owned(),
            reason: error.error_type(),
        });
        let told = match self.told.take() {
            // A model that was reached says more about the request than one that was not.
            Some(before) if is_no_reply(&before) && !is_no_reply(&error) => before,
            _ => error,
        };
        match next {
            Some(next) => {
                self.told = Some(told);
                Ok(next)
            }
            None => Err(told),
        }
    }
}

/// The deltas, once there is text among them or they have come to their end; what comes before is held back, so that
/// another model can still begin from the beginning.
async fn begun(
    mut deltas: BoxStream<'static, Result<ChatDelta, ChatError>>,
) -> Result<BoxStream<'static, Result<ChatDelta, ChatError>>, ChatError> {
    let mut held = Vec::new();
    while let Some(delta) = deltas.next().await {
        let delta = delta?;
        let speaks = match &delta {
            ChatDelta::Text(text) => !text.trim().is_empty(),
            ChatDelta::Logprobs(_) => false,
            ChatDelta::Finished { .. } => true,
        };
        held.push(Ok(delta));
        if speaks {
            break;
        }
    }
    Ok(stream::iter(held).chain(deltas).boxed())
}

/// Whether another model may do better in the time that is left.
fn may_fall_back(error: &ChatError, deadline: Option<Instant>) -> bool {
    let cannot_be_had = matches!(
        error,
        ChatError::Unavailable { .. } | ChatError::RateLimited { .. } | ChatError::Timeout { .. }
    );
    (cannot_be_had || is_no_reply(error)) && deadline.is_none_or(|deadline| Instant::now() < deadline)
}

/// Whether a model was reached, took the request, and had no reply to it.
fn is_no_reply(error: &ChatError) -> bool {
    matches!(error, ChatError::BadReply { .. } | ChatError::Refused { .. })
}

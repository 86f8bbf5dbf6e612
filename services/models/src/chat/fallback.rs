//! Several models in a row: the next one is asked where one cannot be had.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use tokio::time::Instant;

use super::{Chat, ChatDelta, ChatError, ChatReply, ChatRequest};

/// Asks its first model, and each further one where those before it are down, limit the rate beyond the deadline or do
/// not answer in time, as long as time is left. A model that rejects a request, or refuses to answer it, has the last
/// word, and so has one that has begun to speak.
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
}

impl Chat for Chain {
    fn model(&self) -> &str {
        self.first.model()
    }

    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatReply, ChatError>> {
        async move {
            let mut reply = self.first.complete(request.clone()).await;
            for next in self.others.iter() {
                match &reply {
                    Err(error) if may_fall_back(error, request.deadline) => tell(error, next.as_ref()),
                    _ => break,
                }
                reply = next.complete(request.clone()).await;
            }
            reply
        }
        .boxed()
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'static, Result<ChatDelta, ChatError>> {
        let speaking = Speaking {
            stream: self.first.stream(request.clone()),
            request,
            others: self.others.iter().cloned().collect(),
            has_begun: false,
        };
        stream::unfold(speaking, |mut speaking| async move {
            let item = speaking.next().await?;
            Some((item, speaking))
        })
        .boxed()
    }
}

/// A reply that is being streamed, and who could give it instead.
struct Speaking {
    stream: BoxStream<'static, Result<ChatDelta, ChatError>>,
    request: ChatRequest,
    others: VecDeque<Arc<dyn Chat>>,
    has_begun: bool,
}

impl Speaking {
    async fn next(&mut self) -> Option<Result<ChatDelta, ChatError>> {
        loop {
            let item = self.stream.next().await?;
            if let Err(error) = &item
                && !self.has_begun
                && may_fall_back(error, self.request.deadline)
                && let Some(next) = self.others.pop_front()
            {
                tell(error, next.as_ref());
                self.stream = next.stream(self.request.clone());
                continue;
            }
            self.has_begun = true;
            return Some(item);
        }
    }
}

/// Whether another model may do better in the time that is left.
fn may_fall_back(error: &ChatError, deadline: Option<Instant>) -> bool {
    let cannot_be_had = matches!(
        error,
        ChatError::Unavailable { .. } | ChatError::RateLimited { .. } | ChatError::Timeout { .. }
    );
    cannot_be_had && deadline.is_none_or(|deadline| Instant::now() < deadline)
}

fn tell(error: &ChatError, next: &dyn Chat) {
    tracing::warn!(%error, model = next.model(), "asking the next chat model");
}

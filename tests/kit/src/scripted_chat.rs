//! A chat model that says what a test tells it to: no network, no chance.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};

use emend_models::chat::{Chat, ChatDelta, ChatError, ChatReply, ChatRequest, FinishReason, Usage};

type Answer = Box<dyn Fn(&ChatRequest) -> Result<String, ChatError> + Send + Sync>;

/// Answers by a list or by a function, and remembers what it was asked.
#[derive(Clone)]
pub struct Scripted {
    answer: Arc<Answer>,
    requests: Arc<Mutex<Vec<ChatRequest>>>,
}

impl Scripted {
    /// Answers with each of `replies` once, in order; after the last with [`ChatError::Unavailable`].
    pub fn replies<S: Into<String>>(replies: impl IntoIterator<Item = S>) -> Self {
        let left: Mutex<VecDeque<String>> = Mutex::new(replies.into_iter().map(Into::into).collect());
        Self::answering(move |_| {
            left.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop_front()
                .ok_or_else(|| ChatError::Unavailable {
                    model: "scripted".to_owned(),
                    reason: "the script has no reply left".to_owned(),
                })
        })
    }

    /// Answers each request with what `answer` makes of it.
    pub fn answering(answer: impl Fn(&ChatRequest) -> Result<String, ChatError> + Send + Sync + 'static) -> Self {
        Self {
            answer: Arc::new(Box::new(answer)),
            requests: Arc::default(),
        }
    }

    /// Every request so far, oldest first.
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn reply(&self, request: ChatRequest) -> Result<ChatReply, ChatError> {
        request.receipt.called();
        let answer = (self.answer)(&request);
        let spoken = |text: &str| text.split_whitespace().count() as u64;
        let input_tokens = request.messages.iter().map(|message| spoken(&message.content)).sum();
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(request);
        answer.map(|text| ChatReply {
            usage: Usage {
                input_tokens,
                output_tokens: spoken(&text),
            },
            model: "scripted".to_owned(),
            finish_reason: FinishReason::Stop,
            logprobs: Vec::new(),
            text,
        })
    }
}

impl Chat for Scripted {
    fn model(&self) -> &str {
        "scripted"
    }

    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatReply, ChatError>> {
        async move { self.reply(request) }.boxed()
    }

    /// One delta a word, so that a reader of streams has something to join.
    fn stream(&self, request: ChatRequest) -> BoxStream<'static, Result<ChatDelta, ChatError>> {
        let deltas = match self.reply(request) {
            Err(error) => vec![Err(error)],
            Ok(reply) => {
                let mut deltas: Vec<_> = reply
                    .text
                    .split_inclusive(' ')
                    .map(|word| Ok(ChatDelta::Text(word.to_owned())))
                    .collect();
                deltas.push(Ok(ChatDelta::Finished {
                    finish_reason: reply.finish_reason,
                    usage: reply.usage,
                }));
                deltas
            }
        };
        stream::iter(deltas).boxed()
    }
}

#[cfg(test)]
mod tests;

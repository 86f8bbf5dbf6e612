//! Streamed replies.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::Stream;
use futures::stream;
use reqwest::Response;
use tokio::time::Instant;
use tracing::{Instrument, Span};

use super::limit::Slot;
use super::sse::Events;
use super::{Inner, wire};
use crate::chat::clock::Until;
use crate::chat::length::Room;
use crate::chat::{ChatDelta, ChatError, ChatRequest, FinishReason, Receipt, Usage, call};

/// Most bytes of a stream: eight times what the longest reply takes with its log-probabilities. A model that reasons for
/// ever sends no text that could be counted.
const MAX_STREAM: usize = 64 << 20;

/// A call whose response is being read.
struct Reading {
    response: Response,
    /// The concurrency slot, held until the reply is complete.
    _slot: Slot,
    events: Events,
    until: Until,
    /// Whether there was text, so that nobody stands in for the model any more.
    has_begun: bool,
    ready: VecDeque<ChatDelta>,
    model: String,
    text: String,
    finish_reason: Option<FinishReason>,
    usage: Usage,
    /// Whether logprobs were requested. Some servers send them even if not.
    wants_logprobs: bool,
    may_be_empty: bool,
    receipt: Receipt,
    /// The text that the reply may still have.
    room: Room,
    /// The limit of the reply in tokens.
    max_tokens: Option<u32>,
    /// Bytes read so far.
    read: usize,
    /// Whether `[DONE]` or the end of the body has been read, or the reply was cut here.
    ended: bool,
}

enum State {
    Asking(Box<ChatRequest>),
    Reading(Box<Reading>),
    Over,
}

/// Streams the reply to `request`. The request is sent when the stream is first polled.
pub(super) fn deltas(
    inner: Arc<Inner>,
    request: ChatRequest,
    span: Span,
) -> impl Stream<Item = Result<ChatDelta, ChatError>> + Send + 'static {
    stream::unfold(
        (inner, State::Asking(Box::new(request)), span, None),
        |(inner, state, span, began)| async move {
            let began = began.unwrap_or_else(Instant::now);
            let (item, state) = next(&inner, state).instrument(span.clone()).await?;
            match &item {
                Ok(ChatDelta::Finished { usage, .. }) => inner.caller.measured(&inner.model, began, Ok(*usage)),
                Ok(_) => {}
                Err(error) => inner.caller.measured(&inner.model, began, Err(error)),
            }
            Some((item, (inner, state, span, Some(began))))
        },
    )
}

async fn next(inner: &Inner, state: State) -> Option<(Result<ChatDelta, ChatError>, State)> {
    let outcome = match state {
        State::Over => return None,
        State::Asking(request) => match ask(inner, &request).await {
            Ok(reading) => advance(inner, reading).await,
            Err(error) => Err(error),
        },
        State::Reading(reading) => advance(inner, reading).await,
    };
    // What is over is dropped, and with it the connection.
    Some(match outcome {
        Ok((delta @ ChatDelta::Finished { .. }, _)) => (Ok(delta), State::Over),
        Ok((delta, reading)) => (Ok(delta), State::Reading(reading)),
        Err(error) => {
            call::failed(&error);
            (Err(error), State::Over)
        }
    })
}

async fn ask(inner: &Inner, request: &ChatRequest) -> Result<Box<Reading>, ChatError> {
    let (slot, until) = inner.enter(request).await?;
    let sent = tokio::time::timeout_at(until.first, inner.send(request, true, (slot, until.first))).await;
    let (response, slot) = sent.unwrap_or_else(|_| Err(inner.timeout()))?;
    Ok(Box::new(Reading {
        response,
        _slot: slot,
        events: Events::default(),
        until,
        has_begun: false,
        ready: VecDeque::new(),
        model: inner.model.clone(),
        text: String::new(),
        finish_reason: None,
        usage: Usage::default(),
        wants_logprobs: request.top_logprobs > 0,
        may_be_empty: request.may_be_empty,
        receipt: request.receipt.clone(),
        room: Room::of(request.max_tokens),
        max_tokens: request.max_tokens,
        read: 0,
        ended: false,
    }))
}

/// Reads the response up to the next delta.
async fn advance(inner: &Inner, mut reading: Box<Reading>) -> Result<(ChatDelta, Box<Reading>), ChatError> {
    match reading.next(inner).await {
        Ok(delta) => Ok((delta, reading)),
        Err(error) => {
            reading.receipt.wasted(reading.usage);
            Err(error)
        }
    }
}

impl Reading {
    async fn next(&mut self, inner: &Inner) -> Result<ChatDelta, ChatError> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Ok(delta);
            }
            if self.ended {
                return self.finish(inner);
            }
            let deadline = if self.has_begun {
                self.until.end
            } else {
                self.until.first
            };
            let chunk = tokio::time::timeout_at(deadline, self.response.chunk()).await;
            match chunk.map_err(|_| inner.timeout())? {
                Ok(Some(bytes)) => {
                    self.read = self.read.saturating_add(bytes.len());
                    if self.read > MAX_STREAM {
                        return Err(inner.bad_reply(format!("the stream is longer than {MAX_STREAM} bytes")));
                    }
                    let events = self
                        .events
                        .push(&bytes)
                        .map_err(|_| inner.bad_reply("an event of the stream is too long"))?;
                    for event in events {
                        if !self.ended {
                            self.take(inner, &event)?;
                        }
                    }
                }
                Ok(None) => {
                    self.ended = true;
                    if let Some(event) = self.events.finish() {
                        self.take(inner, &event)?;
                    }
                }
                // Some servers close the connection without the last chunk. The reply is complete if it has a finish
                // reason.
                Err(_) if self.finish_reason.is_some() => self.ended = true,
                Err(error) => {
                    return Err(inner.bad_reply(format!(
                        "the stream was cut: {}",
                        emend_core::error_chain(&error.without_url())
                    )));
                }
            }
        }
    }

    fn take(&mut self, inner: &Inner, event: &[u8]) -> Result<(), ChatError> {
        if self.ended && event.is_empty() {
            return Ok(());
        }
        if event.trim_ascii() == b"[DONE]" {
            self.ended = true;
            return Ok(());
        }
        let piece = wire::piece(event).map_err(|problem| match problem {
            wire::Problem::Refusal(reason) => ChatError::Refused {
                model: inner.model.clone(),
                reason: inner.redact(&reason),
            },
            wire::Problem::Cut(reason) | wire::Problem::Malformed(reason) => inner.bad_reply(reason),
        })?;
        if let Some(model) = piece.model.filter(|model| !model.is_empty()) {
            self.model = model;
        }
        self.finish_reason = piece.finish_reason.or(self.finish_reason);
        self.usage = piece.usage.unwrap_or(self.usage);
        if self.wants_logprobs && !piece.logprobs.is_empty() {
            self.ready.push_back(ChatDelta::Logprobs(piece.logprobs));
        }
        let mut text = piece.text;
        if !self.room.take(&mut text) {
            self.cut(inner);
        }
        if !text.is_empty() {
            self.has_begun |= !text.trim().is_empty();
            self.text.push_str(&text);
            self.ready.push_back(ChatDelta::Text(text));
        }
        Ok(())
    }

    /// Ends a reply that goes on beyond its limit.
    fn cut(&mut self, inner: &Inner) {
        tracing::warn!(
            model = inner.model,
            "the chat server goes on beyond max_tokens; the reply is cut"
        );
        self.ended = true;
        self.finish_reason = Some(FinishReason::Length);
        // It reports its tokens at an end that does not come. There were this many at least.
        let written = u64::from(self.max_tokens.unwrap_or_default());
        self.usage.output_tokens = self.usage.output_tokens.max(written);
    }

    fn finish(&self, inner: &Inner) -> Result<ChatDelta, ChatError> {
        let finish_reason = match self.finish_reason {
            Some(reason) => reason,
            None => return Err(inner.bad_reply("the stream ended before the reply did")),
        };
        if self.text.trim().is_empty() && !(self.may_be_empty && wire::ended(finish_reason)) {
            return Err(match finish_reason {
                FinishReason::ContentFilter => ChatError::Refused {
                    model: inner.model.clone(),
                    reason: "the content filter".to_owned(),
                },
                other => inner.bad_reply(format!("it is empty and finished with `{}`", other.as_str())),
            });
        }
        inner.caller.replied(&self.model, finish_reason, self.usage, &self.text);
        Ok(ChatDelta::Finished {
            finish_reason,
            usage: self.usage,
        })
    }
}

//! Sends requests: retries, back-off and the mapping of HTTP status codes to errors.

use std::time::Duration;

use emend_core::{Backoff, ServiceError as _, error_chain, without_secrets};
use reqwest::header::LOCATION;
use reqwest::{Response, StatusCode};
use serde_json::Value;
use tokio::time::Instant;

use super::dialect::{Dialect, Feature};
use super::limit::{Held, Slot};
use super::{Inner, wire};
use crate::chat::clock::Until;
use crate::chat::{ChatError, ChatRequest, call};

/// Maximum attempts per call on transient errors, including the first.
const MAX_TRIES: u32 = 3;
/// Back-off between attempts.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(4));
/// Maximum size of a response body in bytes: the longest reply with log-probabilities of a few alternatives a token.
const MAX_BODY: usize = 8 << 20;
/// How much of the body of an error is read, in bytes. What comes after it explains nothing.
const MAX_ERROR_BODY: usize = 64 << 10;

impl Inner {
    /// Waits for a concurrency slot. Returns the slot and when the call has to be over: at the earlier of the caller's
    /// deadline and the client's timeout, which starts when the slot is acquired. In a chain it is the timeout of all its
    /// models.
    pub(super) async fn enter(&self, request: &ChatRequest) -> Result<(Slot, Until), ChatError> {
        let asked = Instant::now();
        let latest = || Instant::now() + self.timeout;
        let slot = self.admit(request.deadline.unwrap_or_else(latest)).await?;
        let end = request.deadline.map_or_else(latest, |deadline| deadline.min(latest()));
        let until = match &request.clock {
            Some(clock) => clock.begin(asked.elapsed(), end),
            None => Until { first: end, end },
        };
        Ok((slot, until))
    }

    async fn admit(&self, deadline: Instant) -> Result<Slot, ChatError> {
        self.limit.admit(deadline).await.map_err(|held| match held {
            Held::OutOfTime => self.timeout(),
            Held::Paused(left) => ChatError::RateLimited {
                model: self.model.clone(),
                reason: "the server has asked for a pause that is longer than the time left".to_owned(),
                retry_after: Some(left),
            },
        })
    }

    /// Sends the request, with retries. Returns the response with a 2xx status, whose body is not read yet, and the
    /// concurrency slot.
    pub(super) async fn send(
        &self,
        request: &ChatRequest,
        stream: bool,
        (mut slot, deadline): (Slot, Instant),
    ) -> Result<(Response, Slot), ChatError> {
        let mut tries = 0;
        let mut suspects: Vec<Feature> = Vec::new();
        let mut rejection: Option<ChatError> = None;
        loop {
            let has = |feature| self.dialect.has(feature) && !suspects.contains(&feature);
            let sent = |feature| wire::uses(request, stream, feature, has);
            request.receipt.called();
            let error = match self.post(&wire::body(request, stream, &self.model, has)).await {
                Ok(response) if response.status().is_success() => {
                    self.dialect.learn(&suspects, sent);
                    slot.succeeded();
                    request.receipt.answered(&self.model);
                    call::asked_for(wire::Format::of(request, has).as_str());
                    return Ok((response, slot));
                }
                Ok(response) => self.refusal(response).await,
                Err(error) => self.unreachable(error),
            };
            // Some servers reject logprobs with 403, as if the API key were wrong, and a JSON schema that they cannot
            // compile to a grammar with 500, as if they were unavailable.
            if let ChatError::Rejected { reason, .. }
            | ChatError::Unavailable { reason, .. }
            | ChatError::Unauthorized {
                reason, status: 403, ..
            } = &error
                && let Some(feature) = Dialect::blamed(reason, |feature| {
                    sent(feature) && (feature == Feature::JsonSchema || !matches!(error, ChatError::Unavailable { .. }))
                })
            {
                self.dialect.give_up(feature);
                continue;
            }
            if matches!(error, ChatError::Rejected { .. }) {
                // The error may not name the unsupported feature. Only a success without it is proof.
                let next = self.dialect.suspect(sent);
                if next.is_none() && !suspects.is_empty() {
                    self.dialect.acquit();
                }
                let first = rejection.take().unwrap_or(error);
                let Some(feature) = next else { return Err(first) };
                rejection = Some(first);
                suspects.push(feature);
                continue;
            }
            if let ChatError::RateLimited { retry_after, .. } = &error {
                slot.limited(*retry_after);
                tracing::debug!(
                    model = self.model,
                    allowed = self.limit.allowed(),
                    "the chat server limits the rate"
                );
            }
            // Releases the slot during the back-off.
            drop(slot);
            tries += 1;
            if !error.is_transient() || tries >= MAX_TRIES {
                return Err(error);
            }
            let wait = BACKOFF.jittered(tries, error.retry_after().unwrap_or_default());
            if Instant::now() + wait >= deadline || !self.limit.may_retry() {
                return Err(error);
            }
            tracing::debug!(error = %error, ?wait, "trying the chat model again");
            tokio::time::sleep(wait).await;
            slot = self.admit(deadline).await?;
        }
    }

    async fn post(&self, body: &wire::Body<'_>) -> Result<Response, reqwest::Error> {
        let mut post = self.http.post(self.endpoint.clone()).json(body);
        if let Some(key) = &self.key {
            post = post.bearer_auth(key.reveal());
        }
        post.send().await
    }

    /// Reads the whole body of `response`, at most [`MAX_BODY`] bytes.
    pub(super) async fn body(&self, mut response: Response) -> Result<Vec<u8>, ChatError> {
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() <= MAX_BODY => body.extend_from_slice(&chunk),
                Ok(Some(_)) => return Err(self.bad_reply(format!("it is longer than {MAX_BODY} bytes"))),
                Ok(None) => return Ok(body),
                Err(error) => return Err(self.bad_reply(format!("it was cut: {}", error_chain(&error.without_url())))),
            }
        }
    }

    /// Reads the beginning of the body of an error, as far as it comes.
    async fn error_body(&self, mut response: Response) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            let room = MAX_ERROR_BODY - body.len();
            body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
            if body.len() >= MAX_ERROR_BODY {
                break;
            }
        }
        body
    }

    fn unreachable(&self, error: reqwest::Error) -> ChatError {
        if error.is_timeout() && !error.is_connect() {
            return self.timeout();
        }
        ChatError::Unavailable {
            model: self.model.clone(),
            reason: self.redact(&error_chain(&error.without_url())),
        }
    }

    /// Maps a response with a status other than 2xx to an error.
    async fn refusal(&self, response: Response) -> ChatError {
        let status = response.status();
        let retry_after = retry_after(&response);
        let location = response
            .headers()
            .get(LOCATION)
            .map(|url| without_secrets(&String::from_utf8_lossy(url.as_bytes())));
        let body = self.error_body(response).await;
        let words = match (location, serde_json::from_slice::<Value>(&body)) {
            (Some(location), _) if status.is_redirection() => format!(
                "it redirects to {location}, which is not followed: a key and a question go to no other address than the one that was given"
            ),
            (_, Ok(value)) => wire::words(&value),
            (_, Err(_)) => String::from_utf8_lossy(&body).into_owned(),
        };
        let words = if words.trim().is_empty() {
            status.to_string()
        } else {
            words
        };
        let exhausted = String::from_utf8_lossy(&body).contains("insufficient_quota");
        let (model, reason) = (self.model.clone(), self.redact(&words));
        let code = status.as_u16();
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ChatError::Unauthorized {
                model,
                status: code,
                reason,
            },
            StatusCode::TOO_MANY_REQUESTS if !exhausted => ChatError::RateLimited {
                model,
                reason,
                retry_after,
            },
            StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT => ChatError::Unavailable { model, reason },
            // A 5xx with `Retry-After` is handled like 429.
            _ if status.is_server_error() && retry_after.is_some() => ChatError::RateLimited {
                model,
                reason,
                retry_after,
            },
            _ if status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED => {
                ChatError::Unavailable { model, reason }
            }
            _ => ChatError::Rejected {
                model,
                status: code,
                reason,
            },
        }
    }
}

/// Parses `retry-after-ms`, or `retry-after`.
fn retry_after(response: &Response) -> Option<Duration> {
    let text = |name: &str| response.headers().get(name)?.to_str().ok().map(str::trim);
    let milliseconds = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok());
    match milliseconds {
        Some(milliseconds) => Duration::try_from_secs_f64(milliseconds / 1000.0).ok(),
        None => emend_core::retry_after(text("retry-after")?),
    }
}

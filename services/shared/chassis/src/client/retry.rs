//! Trying an idempotent call again, within its deadline.

use std::future::Future;
use std::time::Duration;

use tonic::{Code, Request, Status};
use tonic_types::StatusExt;

use emend_core::{Backoff, Deadline, DeadlineExceeded, MODEL_CALLS};

use super::circuit::PUSHBACK;
use crate::status::{ERROR_DOMAIN, status};

/// Most attempts at one call.
const MAX_ATTEMPTS: u32 = 6;
/// Waits between attempts.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(25), Duration::from_secs(1));
/// A sleep may take so much longer than it is told to: the timer counts milliseconds, and rounds up.
const TICK: Duration = Duration::from_millis(1);

/// One attempt at a call.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// 1 for the first.
    pub number: u32,
    /// The deadline of the whole call.
    pub deadline: Deadline,
}

impl Attempt {
    /// A request whose `grpc-timeout` is what is left now.
    pub fn request<T>(&self, message: T) -> Request<T> {
        request(message, self.deadline)
    }
}

/// Makes an idempotent call, and makes it again after UNAVAILABLE and after RESOURCE_EXHAUSTED that comes with
/// `RetryInfo`: up to six times, with a back-off that doubles and is jittered, and at least what `RetryInfo` asks for.
/// Any other error is returned as it is, and so is the last one when the next wait would pass the deadline, and one whose
/// `grpc-retry-pushback-ms` says no: that of a server, or of a name whose retries are used up or whose servers all rest.
///
/// ```no_run
/// # use emend_chassis::retrying;
/// # use emend_core::Deadline;
/// # async fn grade(_: tonic::Request<()>) -> Result<(), tonic::Status> { Ok(()) }
/// # async fn example(deadline: Deadline) -> Result<(), tonic::Status> {
/// retrying(deadline, |attempt| grade(attempt.request(()))).await
/// # }
/// ```
///
/// # Errors
/// The status of the last attempt; DEADLINE_EXCEEDED when the deadline passes during one.
pub async fn retrying<R, F, Fut>(deadline: Deadline, mut call: F) -> Result<R, Status>
where
    F: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<R, Status>>,
{
    let mut number = 1;
    loop {
        let status = match deadline
            .run(call(Attempt { number, deadline }))
            .await
            .map_err(|late| status(&late))?
        {
            Ok(reply) => return Ok(reply),
            Err(status) => expired_as_deadline_exceeded(status),
        };
        let Some(asked) = asked_to_wait(&status) else {
            return Err(status);
        };
        let wait = BACKOFF.jittered(number, asked);
        if number == MAX_ATTEMPTS || wait + TICK >= deadline.remaining() {
            return Err(status);
        }
        tracing::debug!(number, code = ?status.code(), reason = status.message(), ?wait, "trying the call again");
        tokio::time::sleep(wait).await;
        number += 1;
    }
}

/// A request whose `grpc-timeout` is what is left until `deadline`.
pub fn request<T>(message: T, deadline: Deadline) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(deadline.remaining());
    request
}

/// tonic reports an expired `grpc-timeout`, ours or the server's, as CANCELLED; the caller is to see what it was.
pub(super) fn expired_as_deadline_exceeded(status: Status) -> Status {
    if is_expired(&status) {
        crate::status::status(&DeadlineExceeded)
    } else {
        status
    }
}

pub(super) fn is_expired(status: &Status) -> bool {
    status.code() == Code::Cancelled && status.message() == "Timeout expired"
}

/// The calls of a model that a service made before it gave up; `None` for a failure that no model caused.
pub fn failed_model_calls(status: &Status) -> Option<u32> {
    let info = status
        .get_details_error_info()
        .filter(|info| info.domain == ERROR_DOMAIN)?;
    let calls = info.metadata.get(MODEL_CALLS)?;
    Some(calls.parse().unwrap_or_default())
}

/// How long the server asks to wait at least; `None` when the call is not to be made again.
pub(super) fn asked_to_wait(status: &Status) -> Option<Duration> {
    // Said by the server, or by this client's own budget. Any value but a time means no.
    if status.metadata().contains_key(PUSHBACK) {
        let pushback = status.metadata().get(PUSHBACK)?.to_str().ok()?.parse().ok()?;
        return Some(Duration::from_millis(pushback));
    }
    let asked = status
        .get_details_retry_info()
        .map(|info| info.retry_delay.unwrap_or_default());
    match status.code() {
        Code::Unavailable => Some(asked.unwrap_or_default()),
        Code::ResourceExhausted => asked,
        _ => None,
    }
}

#[cfg(test)]
mod tests;

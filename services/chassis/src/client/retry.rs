//! Trying an idempotent call again, within its deadline.

use std::future::Future;
use std::time::Duration;

use tonic::{Code, Request, Status};
use tonic_types::StatusExt;

use crate::deadline::Deadline;

/// Most attempts at one call.
const MAX_ATTEMPTS: u32 = 6;
/// The wait after the first attempt; it doubles, up to [`MAX_BACKOFF`].
const BACKOFF: Duration = Duration::from_millis(25);
const MAX_BACKOFF: Duration = Duration::from_secs(1);
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
/// Any other error is returned as it is, and so is the last one when the next wait would pass the deadline.
///
/// ```no_run
/// # use emend_chassis::{Deadline, retrying};
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
        let status = match deadline.run(call(Attempt { number, deadline })).await? {
            Ok(reply) => return Ok(reply),
            Err(status) => expired_as_deadline_exceeded(status),
        };
        let Some(asked) = asked_to_wait(&status) else {
            return Err(status);
        };
        let wait = jittered(backoff(number).max(asked));
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
        crate::deadline::DeadlineExceeded.into()
    } else {
        status
    }
}

pub(super) fn is_expired(status: &Status) -> bool {
    status.code() == Code::Cancelled && status.message() == "Timeout expired"
}

/// How long the server asks to wait at least; `None` when the call is not to be made again.
fn asked_to_wait(status: &Status) -> Option<Duration> {
    let asked = status
        .get_details_retry_info()
        .map(|info| info.retry_delay.unwrap_or_default());
    match status.code() {
        Code::Unavailable => Some(asked.unwrap_or_default()),
        Code::ResourceExhausted => asked,
        _ => None,
    }
}

fn backoff(number: u32) -> Duration {
    BACKOFF.saturating_mul(1 << (number - 1).min(16)).min(MAX_BACKOFF)
}

/// Up to half as long again, so that callers refused together do not come back together.
fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(1.0 + fastrand::f64() / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actor::CallError;
    use crate::deadline::DeadlineExceeded;
    use std::cell::Cell;

    fn full() -> Status {
        CallError::<DeadlineExceeded>::Full {
            retry_after: Duration::from_millis(300),
        }
        .into()
    }

    #[tokio::test(start_paused = true)]
    async fn unavailable_is_tried_again_until_it_works() {
        let attempts = Cell::new(0);
        let reply = retrying(Deadline::after(Duration::from_secs(30)), |attempt| {
            attempts.set(attempt.number);
            async move {
                if attempt.number < 3 {
                    Err(Status::unavailable("down"))
                } else {
                    Ok(attempt.number)
                }
            }
        });
        assert_eq!(reply.await.unwrap(), 3);
        assert_eq!(attempts.get(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_server_is_given_the_time_it_asks_for() {
        let started = tokio::time::Instant::now();
        let reply = retrying(Deadline::after(Duration::from_secs(30)), |attempt| async move {
            if attempt.number == 1 { Err(full()) } else { Ok(()) }
        });
        reply.await.unwrap();
        assert!(started.elapsed() >= Duration::from_millis(300));
    }

    #[tokio::test(start_paused = true)]
    async fn what_will_not_get_better_is_not_tried_again() {
        for status in [
            Status::invalid_argument("no"),
            Status::resource_exhausted("no hint"),
            Status::internal("bug"),
        ] {
            let attempts = Cell::new(0);
            let code = status.code();
            let error = retrying(Deadline::after(Duration::from_secs(30)), |attempt| {
                attempts.set(attempt.number);
                let status = Status::new(code, "no");
                async move { Err::<(), _>(status) }
            })
            .await
            .unwrap_err();
            assert_eq!((error.code(), attempts.get()), (code, 1));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_gives_up_within_the_deadline_with_the_last_error() {
        let deadline = Deadline::after(Duration::from_millis(200));
        let error = retrying(deadline, |_| async { Err::<(), _>(Status::unavailable("down")) })
            .await
            .unwrap_err();
        assert_eq!(error.code(), Code::Unavailable);
        assert!(!deadline.is_expired());
        let error = retrying(deadline, |_| std::future::pending::<Result<(), Status>>())
            .await
            .unwrap_err();
        assert_eq!(error.code(), Code::DeadlineExceeded);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_stays_down_is_given_up() {
        let attempts = Cell::new(0);
        let error = retrying(Deadline::after(Duration::from_secs(3600)), |attempt| {
            attempts.set(attempt.number);
            async { Err::<(), _>(Status::unavailable("down")) }
        });
        assert_eq!(error.await.unwrap_err().code(), Code::Unavailable);
        assert_eq!(attempts.get(), MAX_ATTEMPTS);
    }

    #[tokio::test(start_paused = true)]
    async fn an_expired_timeout_is_deadline_exceeded() {
        let expired = || async { Err::<(), _>(Status::cancelled("Timeout expired")) };
        let error = retrying(Deadline::after(Duration::from_secs(1)), |_| expired())
            .await
            .unwrap_err();
        assert_eq!(error.code(), Code::DeadlineExceeded);
        let request = request((), Deadline::after(Duration::from_secs(2)));
        assert_eq!(request.metadata().get("grpc-timeout").unwrap(), "2000000u");
    }
}

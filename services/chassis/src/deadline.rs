//! The absolute time by which a caller wants its answer.
//!
//! On the wire a deadline is `grpc-timeout`, a duration; inside a process it is one instant, so that queueing and
//! retries use it up. tonic ends an expired call with CANCELLED "Timeout expired"; to answer the proper
//! DEADLINE_EXCEEDED ourselves, we have to be a little earlier than the header says.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;
use tonic::metadata::MetadataMap;

use crate::error::{Code, ServiceError, status};

/// No deadline lies further ahead: `grpc-timeout` can name eleven thousand years, which overflows a clock.
const FURTHEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// How much earlier than the caller's own timer we answer: a twentieth of what it gave, at most 50 ms.
const MARGIN_DIVISOR: u32 = 20;
const MARGIN_MOST: Duration = Duration::from_millis(50);

/// An instant by which an answer is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// Due in `timeout` from now; at most a year ahead.
    pub fn after(timeout: Duration) -> Self {
        Self(Instant::now() + timeout.min(FURTHEST))
    }

    /// Due at `instant`.
    pub fn at(instant: Instant) -> Self {
        Self(instant)
    }

    /// The deadline of a request: its `grpc-timeout` less a small margin, or `default` from now without a header.
    /// A header that cannot be read counts as none, as it does in tonic.
    pub fn from_metadata(metadata: &MetadataMap, default: Duration) -> Self {
        match metadata
            .get("grpc-timeout")
            .and_then(|value| value.to_str().ok())
            .and_then(parse_timeout)
        {
            Some(timeout) => Self::after(timeout - (timeout / MARGIN_DIVISOR).min(MARGIN_MOST)),
            None => Self::after(default),
        }
    }

    /// What is left; zero when past.
    pub fn remaining(&self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether it is past.
    pub fn is_expired(&self) -> bool {
        self.remaining().is_zero()
    }

    /// The same deadline, `margin` earlier (now, where that is already past).
    #[must_use]
    pub fn minus(&self, margin: Duration) -> Self {
        Self(self.0.checked_sub(margin).unwrap_or_else(Instant::now))
    }

    /// The earlier of the two.
    #[must_use]
    pub fn earliest(self, other: Self) -> Self {
        self.min(other)
    }

    /// The instant itself.
    pub fn instant(&self) -> Instant {
        self.0
    }

    /// Runs a future until it is done or the deadline is past.
    ///
    /// # Errors
    /// [`DeadlineExceeded`] when the deadline came first; the future is dropped.
    pub async fn run<F: Future>(&self, future: F) -> Result<F::Output, DeadlineExceeded> {
        tokio::time::timeout_at(self.0, future)
            .await
            .map_err(|_| DeadlineExceeded)
    }
}

/// Runs a future until it is done or the deadline is past; [`Deadline::run`] as a function.
///
/// # Errors
/// [`DeadlineExceeded`] when the deadline came first; the future is dropped.
pub async fn within<F: Future>(deadline: Deadline, future: F) -> Result<F::Output, DeadlineExceeded> {
    deadline.run(future).await
}

/// The deadline came before the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the deadline passed before the answer was ready: give the call a longer timeout")]
pub struct DeadlineExceeded;

impl ServiceError for DeadlineExceeded {
    fn code(&self) -> Code {
        Code::DeadlineExceeded
    }
}

impl From<DeadlineExceeded> for tonic::Status {
    fn from(error: DeadlineExceeded) -> Self {
        status(&error)
    }
}

/// Reads a `grpc-timeout` value: one to eight digits and a unit (H, M, S, m, u, n), as the gRPC protocol over HTTP/2
/// defines it.
pub(crate) fn parse_timeout(value: &str) -> Option<Duration> {
    let unit = value.chars().last()?;
    let digits = &value[..value.len() - unit.len_utf8()];
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let amount: u64 = digits.parse().ok()?;
    match unit {
        'H' => Some(Duration::from_secs(amount * 3600)),
        'M' => Some(Duration::from_secs(amount * 60)),
        'S' => Some(Duration::from_secs(amount)),
        'm' => Some(Duration::from_millis(amount)),
        'u' => Some(Duration::from_micros(amount)),
        'n' => Some(Duration::from_nanos(amount)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(value: &str) -> MetadataMap {
        let mut map = MetadataMap::new();
        map.insert("grpc-timeout", value.parse().unwrap());
        map
    }

    #[test]
    fn every_unit_of_the_header_is_read() {
        assert_eq!(parse_timeout("2H"), Some(Duration::from_secs(7200)));
        assert_eq!(parse_timeout("3M"), Some(Duration::from_secs(180)));
        assert_eq!(parse_timeout("4S"), Some(Duration::from_secs(4)));
        assert_eq!(parse_timeout("5m"), Some(Duration::from_millis(5)));
        assert_eq!(parse_timeout("6u"), Some(Duration::from_micros(6)));
        assert_eq!(parse_timeout("7n"), Some(Duration::from_nanos(7)));
        for bad in ["", "S", "1", "-1S", "1.5S", "123456789S", "1x", "1é"] {
            assert_eq!(parse_timeout(bad), None, "{bad:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_header_is_answered_a_little_early_and_no_header_is_the_default() {
        let default = Duration::from_secs(30);
        let left = |value: &str| Deadline::from_metadata(&metadata(value), default).remaining();
        assert_eq!(left("100m"), Duration::from_millis(95));
        assert_eq!(left("10S"), Duration::from_millis(9950));
        assert_eq!(left("nonsense"), default);
        assert_eq!(left("99999999H"), FURTHEST);
        assert_eq!(
            Deadline::from_metadata(&MetadataMap::new(), default).remaining(),
            default
        );
    }

    #[tokio::test(start_paused = true)]
    async fn work_is_dropped_when_the_deadline_passes() {
        let deadline = Deadline::after(Duration::from_secs(1));
        assert_eq!(deadline.run(async { 7 }).await, Ok(7));
        assert_eq!(
            within(deadline, std::future::pending::<()>()).await,
            Err(DeadlineExceeded)
        );
        assert!(deadline.is_expired());
        assert_eq!(deadline.remaining(), Duration::ZERO);
        assert!(deadline.minus(Duration::from_secs(1)) < deadline);
    }
}

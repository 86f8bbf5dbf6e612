//! The absolute time by which a caller wants its answer.
//!
//! On the wire a deadline is a duration, `grpc-timeout`; inside a process it is one instant, so that queueing and retries
//! use it up. Each layer answers a little before the layer above stops waiting: see [`Reserve`].

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

use crate::{Reason, ServiceError};

/// Longest time until a deadline: `grpc-timeout` can ask for eleven thousand years, which overflows a clock.
const MAX_TIMEOUT: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// The part of the remaining time that is reserved for sending the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserve {
    /// The reserve is the remaining time divided by this,
    divisor: u32,
    /// and at most this.
    most: Duration,
}

impl Reserve {
    /// What a server reserves of a caller's `grpc-timeout`: it answers DEADLINE_EXCEEDED itself, before the transport ends
    /// the call with CANCELLED.
    pub const TRANSPORT: Self = Self::part(20, Duration::from_millis(50));
    /// What a backend reserves for sending its partial result: grades, the sentences of an answer.
    pub const PARTIAL_RESULT: Self = Self::part(10, Duration::from_millis(250));
    /// What a walk reserves for sending its result.
    pub const WALK_RESULT: Self = Self::part(20, Duration::from_millis(500));

    const fn part(divisor: u32, most: Duration) -> Self {
        Self { divisor, most }
    }

    fn of(self, left: Duration) -> Duration {
        (left / self.divisor).min(self.most)
    }
}

/// An instant by which an answer is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// Due in `timeout` from now; at most a year ahead.
    pub fn after(timeout: Duration) -> Self {
        Self(Instant::now() + timeout.min(MAX_TIMEOUT))
    }

    /// Due at `instant`.
    pub fn at(instant: Instant) -> Self {
        Self(instant)
    }

    /// What remains of a caller's `timeout` after [`Reserve::TRANSPORT`], or `default` from now without one.
    pub fn of_caller(timeout: Option<Duration>, default: Duration) -> Self {
        match timeout {
            Some(timeout) => Self::after(timeout - Reserve::TRANSPORT.of(timeout)),
            None => Self::after(default),
        }
    }

    /// The remaining time; zero when past.
    pub fn remaining(&self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether it is past.
    pub fn is_expired(&self) -> bool {
        self.remaining().is_zero()
    }

    /// The same deadline, earlier by the reserve of the time that remains now.
    #[must_use]
    pub fn keeping(&self, reserve: Reserve) -> Self {
        self.minus(reserve.of(self.remaining()))
    }

    /// The same deadline, `margin` earlier (now, where that is already past).
    #[must_use]
    pub fn minus(&self, margin: Duration) -> Self {
        Self(self.0.checked_sub(margin).unwrap_or_else(Instant::now))
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

/// The deadline came before the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the deadline passed before the answer was ready: give the call a longer timeout")]
pub struct DeadlineExceeded;

impl ServiceError for DeadlineExceeded {
    fn reason(&self) -> Reason {
        Reason::DeadlineTooShort
    }
}

#[cfg(test)]
mod tests;

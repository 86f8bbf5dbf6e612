//! The time that a request has over all models of a chain.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// One timeout over all models of a chain, which runs from the first call on.
///
/// It stands still while a call waits for a concurrency slot. Otherwise, of a hundred grades that queue for eight slots, the
/// last ones would fail for the time of those before them.
///
/// Each model has an equal share of what is left for it and those after it, so that one that hangs leaves time for the next.
/// A stream whose text has begun, and which nobody stands in for any more, has all that is left.
#[derive(Clone, Debug)]
pub struct ChainClock {
    timeout: Duration,
    /// When it is over; set by the first call.
    until: Arc<Mutex<Option<Instant>>>,
    /// The model that is called and those that may be called after it.
    models: u32,
}

/// Always equal: a clock does not take part in the comparison of two requests.
impl PartialEq for ChainClock {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// When a call has to be over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Until {
    /// When a whole reply, or the first text of a stream, has to be there.
    pub(super) first: Instant,
    /// When a stream that has begun has to be at its end.
    pub(super) end: Instant,
}

impl ChainClock {
    /// Creates a clock of `timeout` over `models` models, at least 1.
    pub(super) fn new(timeout: Duration, models: usize) -> Self {
        Self {
            timeout,
            until: Arc::default(),
            models: u32::try_from(models).unwrap_or(u32::MAX).max(1),
        }
    }

    /// Goes on to the next model.
    pub(super) fn next_model(&mut self) {
        self.models = self.models.saturating_sub(1).max(1);
    }

    /// When a call has to be over that begins now and has waited so long for its slot; by `latest` in any case, of which
    /// no share is kept for others.
    pub(super) fn begin(&self, waited: Duration, latest: Instant) -> Until {
        let now = Instant::now();
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let over = until.map_or_else(|| now + self.timeout, |until| until + waited);
        *until = Some(over);
        let share = over.saturating_duration_since(now) / self.models;
        Until {
            first: latest.min(now + share),
            end: latest.min(over),
        }
    }
}

#[cfg(test)]
mod tests;

//! How many calls are let in.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::CallError;
use crate::metrics::ActorMetrics;

/// What a refused caller is told to wait. The actors work on what they have; a fixed hint is honest, a computed one would
/// only look so.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// Counts the calls that are queued or at work, and refuses those above the limit.
#[derive(Debug)]
pub(super) struct Admission {
    max_in_flight: usize,
    places: Semaphore,
    pub(super) metrics: ActorMetrics,
}

impl Admission {
    pub(super) fn new(name: &'static str, max_in_flight: usize) -> Self {
        let max_in_flight = max_in_flight.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            max_in_flight,
            places: Semaphore::new(max_in_flight),
            metrics: ActorMetrics::new(name),
        }
    }

    /// Admits a call without waiting, or refuses it at once (R13).
    pub(super) fn admit<E>(self: &Arc<Self>) -> Result<Permit, CallError<E>> {
        match self.places.try_acquire() {
            Ok(place) => {
                place.forget();
                self.metrics.admitted();
                Ok(Permit(Arc::clone(self)))
            }
            Err(_) => {
                self.metrics.rejected();
                Err(CallError::Full {
                    retry_after: RETRY_AFTER,
                })
            }
        }
    }

    /// Calls admitted and not done.
    pub(super) fn in_flight(&self) -> usize {
        self.max_in_flight.saturating_sub(self.places.available_permits())
    }
}

/// A place among the calls in flight; given back when dropped.
#[derive(Debug)]
pub(super) struct Permit(Arc<Admission>);

impl Permit {
    pub(super) fn metrics(&self) -> &ActorMetrics {
        &self.0.metrics
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.metrics.left();
        self.0.places.add_permits(1);
    }
}

//! The adaptive concurrency limit, rate-limit pauses and retry budget of one model.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// Initial and maximum retry budget.
const RETRIES: f64 = 10.0;
/// Retries that a success adds to the budget: one per ten successes.
const EARNED: f64 = 0.1;
/// Maximum pause. A longer `Retry-After` is capped to it.
const MAX_PAUSE: Duration = Duration::from_secs(600);

/// The concurrency limit of one model, shared by all its calls.
///
/// The limit is halved on 429 and grows by one with each round of successes (additive increase, multiplicative
/// decrease), between 1 and the configured maximum.
#[derive(Debug)]
pub(super) struct Limit {
    slots: Arc<Semaphore>,
    most: usize,
    patience: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The current limit, 1 to `most`. The integer part applies.
    allowed: f64,
    /// Slots in use that are removed instead of returned when they are released.
    owed: usize,
    /// How often `allowed` has been lowered.
    shrunk: u64,
    /// No call starts before this time.
    paused_until: Option<Instant>,
    /// Retry budget.
    retries: f64,
}

/// Why a call was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// The server asked for a pause, of which this much is left: it ends after the deadline or exceeds `patience`.
    Paused(Duration),
    /// The deadline passed before a slot was free.
    OutOfTime,
}

/// A concurrency slot of one call. Dropping it releases it.
#[derive(Debug)]
pub(super) struct Slot {
    limit: Arc<Limit>,
    permit: Option<OwnedSemaphorePermit>,
    /// [`State::shrunk`] when the call started.
    shrunk: u64,
}

impl Limit {
    /// Creates a limit of `most` concurrent calls, at least 1. Calls fail at once if a pause is longer than `patience`.
    pub(super) fn new(most: usize, patience: Duration) -> Arc<Self> {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        Arc::new(Self {
            slots: Arc::new(Semaphore::new(most)),
            most,
            patience,
            state: Mutex::new(State {
                allowed: whole(most),
                owed: 0,
                shrunk: 0,
                paused_until: None,
                retries: RETRIES,
            }),
        })
    }

    /// Waits until `deadline` for a slot and for the end of a pause. Slots are granted in FIFO order, except to calls
    /// that a pause has delayed.
    pub(super) async fn admit(self: &Arc<Self>, deadline: Instant) -> Result<Slot, Held> {
        loop {
            if let Some(until) = self.pause() {
                let left = until.saturating_duration_since(Instant::now());
                if until >= deadline || left > self.patience {
                    return Err(Held::Paused(left));
                }
                tokio::time::sleep_until(until).await;
            }
            let turn = tokio::time::timeout_at(deadline, Arc::clone(&self.slots).acquire_owned()).await;
            let slot = Slot {
                limit: Arc::clone(self),
                // The semaphore is never closed.
                permit: turn.map_err(|_| Held::OutOfTime)?.ok(),
                shrunk: self.state().shrunk,
            };
            // A pause may have started while this call waited for the slot. The slot is released during the pause, so
            // that calls with an earlier deadline can get it and fail fast.
            if self.pause().is_none() {
                return Ok(slot);
            }
        }
    }

    /// Takes a retry from the budget. Returns false if the budget is exhausted.
    pub(super) fn may_retry(&self) -> bool {
        let mut state = self.state();
        let may = state.retries >= 1.0;
        if may {
            state.retries -= 1.0;
        }
        may
    }

    /// The current concurrency limit.
    pub(super) fn allowed(&self) -> usize {
        floor(self.state().allowed)
    }

    fn pause(&self) -> Option<Instant> {
        self.state().paused_until.filter(|until| *until > Instant::now())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Records a success, which raises the concurrency limit and the retry budget.
    pub(super) fn succeeded(&self) {
        let mut state = self.limit.state();
        state.retries = (state.retries + EARNED).min(RETRIES);
        let before = floor(state.allowed);
        // A round of `allowed` successes adds 1. The epsilon compensates for rounding.
        state.allowed = (state.allowed + 1.0 / whole(before) + 1e-9).min(whole(self.limit.most));
        for _ in before..floor(state.allowed) {
            if state.owed > 0 {
                state.owed -= 1;
            } else {
                self.limit.slots.add_permits(1);
            }
        }
    }

    /// Records a 429, with the pause of its `Retry-After`. The limit is not lowered again for calls that started before
    /// it was last lowered.
    pub(super) fn limited(&self, retry_after: Option<Duration>) {
        let mut state = self.limit.state();
        if let Some(pause) = retry_after.filter(|pause| !pause.is_zero()) {
            let until = Instant::now() + pause.min(MAX_PAUSE);
            state.paused_until = state.paused_until.max(Some(until));
        }
        if self.shrunk < state.shrunk {
            return;
        }
        state.shrunk += 1;
        let before = floor(state.allowed);
        state.allowed = (state.allowed / 2.0).floor().max(1.0);
        let gone = before - floor(state.allowed);
        let free = self.limit.slots.forget_permits(gone);
        state.owed += gone - free;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.limit.state();
        if state.owed > 0
            && let Some(permit) = self.permit.take()
        {
            state.owed -= 1;
            permit.forget();
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "nobody makes 2^52 calls at once")]
fn whole(calls: usize) -> f64 {
    calls as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is at least 1 and at most a usize"
)]
fn floor(calls: f64) -> usize {
    calls as usize
}

#[cfg(test)]
mod tests;

//! How much one model is asked at once, when it is left alone, and how often it is asked again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// Retries that may be made before any call has succeeded, and the most that are saved up.
const RETRIES: f64 = 10.0;
/// What a success adds to them: one retry for ten successes.
const EARNED: f64 = 0.1;
/// The longest pause that a server gets, whatever it asks for; after that it is asked again.
const MAX_PAUSE: Duration = Duration::from_secs(600);

/// What all calls of one model share. The number of calls at once is halved by a 429 and grows again by one with each
/// round of successes (additive increase, multiplicative decrease), between 1 and what is configured.
#[derive(Debug)]
pub(super) struct Limit {
    slots: Arc<Semaphore>,
    most: usize,
    patience: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Calls at once, 1 to the limit's `most`; its whole part holds.
    allowed: f64,
    /// Slots that are in use and go as soon as they are free.
    owed: usize,
    /// How often `allowed` has shrunk.
    shrunk: u64,
    /// Until when no call begins.
    paused_until: Option<Instant>,
    /// Retries left.
    retries: f64,
}

/// Why a call may not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// The server wants to be left alone for this long, which is beyond the deadline or the limit's patience.
    Paused(Duration),
    /// The deadline passed before it was the call's turn.
    OutOfTime,
}

/// One call's turn, until it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    limit: Arc<Limit>,
    permit: Option<OwnedSemaphorePermit>,
    /// [`State::shrunk`] when the call began.
    shrunk: u64,
}

impl Limit {
    /// A limit of `most` calls at once, at least 1. No call waits for the end of a pause that is longer than `patience`.
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

    /// Waits for a turn until `deadline`, and for the end of a pause that ends before. Turns come in the order of asking, but
    /// for those that a pause has held up.
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
            // A pause may have begun while this call was waiting. It is not waited for in a turn that another call, with
            // an earlier deadline, needs to find out that it is too late.
            if self.pause().is_none() {
                return Ok(slot);
            }
        }
    }

    /// Whether a failed call may be made again. Each time costs a retry.
    pub(super) fn may_retry(&self) -> bool {
        let mut state = self.state();
        let may = state.retries >= 1.0;
        if may {
            state.retries -= 1.0;
        }
        may
    }

    /// Calls allowed at once.
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
    /// The server answered.
    pub(super) fn succeeded(&self) {
        let mut state = self.limit.state();
        state.retries = (state.retries + EARNED).min(RETRIES);
        let before = floor(state.allowed);
        // As many successes as calls are allowed are one round; the least bit more, so that their sum is a whole one.
        state.allowed = (state.allowed + 1.0 / whole(before) + 1e-9).min(whole(self.limit.most));
        for _ in before..floor(state.allowed) {
            if state.owed > 0 {
                state.owed -= 1;
            } else {
                self.limit.slots.add_permits(1);
            }
        }
    }

    /// The server limits the rate, and wants to be left alone for `retry_after`. Calls that began before the last such
    /// answer say nothing new.
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

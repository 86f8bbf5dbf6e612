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
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

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
            let until = Instant::now() + pause.min(LONGEST_PAUSE);
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
mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    async fn take(limit: &Arc<Limit>, calls: usize) -> Vec<Slot> {
        let mut slots = Vec::new();
        for _ in 0..calls {
            slots.push(limit.admit(soon()).await.unwrap());
        }
        slots
    }

    /// Whether a call would have to wait.
    fn is_full(limit: &Limit) -> bool {
        limit.slots.available_permits() == 0
    }

    #[tokio::test(start_paused = true)]
    async fn a_429_halves_the_limit_once_and_successes_grow_it_back_to_what_is_configured() {
        let limit = Limit::new(8, LONGEST_PAUSE);
        let slots = take(&limit, 8).await;
        // All eight are told at the same time: that is one answer, not eight.
        slots.iter().for_each(|slot| slot.limited(None));
        assert_eq!(limit.allowed(), 4);
        drop(slots);
        let slots = take(&limit, 4).await;
        assert!(is_full(&limit));
        slots[0].limited(None);
        assert_eq!(limit.allowed(), 2);
        drop(slots);
        for _ in 0..5 {
            let slots = take(&limit, 1).await;
            slots[0].limited(None);
        }
        assert_eq!(limit.allowed(), 1, "never less than one");
        let mut grown = Vec::new();
        for _ in 0..60 {
            let before = limit.allowed();
            take(&limit, 1).await[0].succeeded();
            if limit.allowed() != before {
                grown.push(limit.allowed());
            }
        }
        assert_eq!(grown, [2, 3, 4, 5, 6, 7, 8], "one at a time, and no further");
        let _slots = take(&limit, 8).await;
        assert!(is_full(&limit));
    }

    #[tokio::test(start_paused = true)]
    async fn growing_takes_as_many_successes_as_there_are_calls_at_once() {
        let limit = Limit::new(8, LONGEST_PAUSE);
        take(&limit, 1).await[0].limited(None);
        assert_eq!(limit.allowed(), 4);
        for allowed in [4, 4, 4, 5, 5, 5, 5, 5, 6] {
            take(&limit, 1).await[0].succeeded();
            assert_eq!(limit.allowed(), allowed);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn slots_in_use_go_when_they_are_free() {
        let limit = Limit::new(4, LONGEST_PAUSE);
        let mut slots = take(&limit, 4).await;
        slots[0].limited(None);
        // Two are owed. The first two to come free are gone for good.
        slots.truncate(2);
        assert!(is_full(&limit));
        slots.truncate(1);
        assert!(!is_full(&limit));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_holds_every_call_and_fails_those_that_it_outlasts_at_once() {
        let limit = Limit::new(2, LONGEST_PAUSE);
        take(&limit, 1).await[0].limited(Some(Duration::from_secs(30)));
        let begin = Instant::now();
        let early = limit.admit(begin + Duration::from_secs(30)).await;
        assert_eq!(early.err(), Some(Held::Paused(Duration::from_secs(30))));
        assert_eq!(begin.elapsed(), Duration::ZERO);
        let slot = limit.admit(begin + Duration::from_secs(31)).await.unwrap();
        assert_eq!(begin.elapsed(), Duration::from_secs(30));
        // A shorter one later does not end it earlier; an absurd one is cut.
        slot.limited(Some(Duration::from_secs(1 << 40)));
        slot.limited(Some(Duration::from_secs(1)));
        drop(slot);
        let begin = Instant::now();
        assert!(
            limit
                .admit(begin + LONGEST_PAUSE + Duration::from_secs(1))
                .await
                .is_ok()
        );
        assert_eq!(begin.elapsed(), LONGEST_PAUSE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_that_begins_while_a_call_waits_fails_it_too() {
        let limit = Limit::new(1, LONGEST_PAUSE);
        let slot = limit.admit(soon()).await.unwrap();
        let waiting = tokio::spawn({
            let limit = Arc::clone(&limit);
            async move { limit.admit(soon()).await.err() }
        });
        tokio::task::yield_now().await;
        let begin = Instant::now();
        slot.limited(Some(Duration::from_secs(120)));
        drop(slot);
        assert_eq!(waiting.await.unwrap(), Some(Held::Paused(Duration::from_secs(120))));
        assert_eq!(begin.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_a_turn_beyond_the_deadline() {
        let limit = Limit::new(1, LONGEST_PAUSE);
        let _slot = limit.admit(soon()).await.unwrap();
        let begin = Instant::now();
        let late = limit.admit(begin + Duration::from_secs(5)).await;
        assert_eq!(late.err(), Some(Held::OutOfTime));
        assert_eq!(begin.elapsed(), Duration::from_secs(5));
    }

    #[tokio::test(start_paused = true)]
    async fn retries_are_earned_by_successes() {
        let limit = Limit::new(1, LONGEST_PAUSE);
        let left = || std::iter::from_fn(|| limit.may_retry().then_some(())).count();
        assert_eq!(left(), 10);
        for _ in 0..21 {
            take(&limit, 1).await[0].succeeded();
        }
        assert_eq!(left(), 2);
        for _ in 0..1000 {
            take(&limit, 1).await[0].succeeded();
        }
        assert_eq!(left(), 10, "no more than ten are saved up");
    }
}

//! Which servers are left alone for a while: those that fail, do not answer, or are much slower than the others.
//!
//! A server that is ejected gets no call until it has rested, then one: if that works it is back among the others, else
//! it rests again. Where every server of a name rests its circuit is open, and calls fail at once.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use emend_core::Backoff;

/// Calls in a row that a server may fail, or leave unanswered, before it is ejected.
pub(super) const MAX_FAILURES: u32 = 5;
/// How long a server rests after its first ejection in a row, the second, and so on. Short, so that soon after a fault
/// is gone nothing of it is left.
pub(super) const REST: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
/// A server that has rested, and got no call for so long, is as good as any: calls that come together all go to it.
pub(super) const FORGOTTEN: Duration = Duration::from_secs(5);
/// Answers after which the latency of a server says something; it is about the mean of as many.
const MIN_ANSWERS: u32 = 20;
/// A server is slow at so many times the latency of the others, and so much more.
const SLOW_TIMES: u32 = 3;
const SLOW_MORE: Duration = Duration::from_millis(50);

/// Most characters of what a failure said that are kept, for the calls that are refused because of it.
const MAX_SAID_CHARS: usize = 200;

/// Why a server is ejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It broke off the calls that it had, or answered that it cannot serve them.
    Fails,
    /// It left calls unanswered, or does not speak at all.
    Silent,
    /// It takes much longer than the others.
    Slow,
}

impl Fault {
    /// Its name in metrics.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Fails => "fails",
            Self::Silent => "silent",
            Self::Slow => "slow",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fails => "fails",
            Self::Silent => "does not answer",
            Self::Slow => "is much slower than the others",
        })
    }
}

/// A server that rests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ejection {
    pub(super) fault: Fault,
    /// Calls that began before say nothing of how the server does now.
    since: Instant,
    /// From when on one call may see how it does.
    pub(super) until: Instant,
}

/// What the calls of a server have said of it.
#[derive(Debug, Default)]
pub(super) struct Standing {
    /// In a row.
    failures: u32,
    /// In a row.
    ejections: u32,
    ejection: Option<Ejection>,
    /// Answers, and how long they took.
    answers: u32,
    latency: Duration,
    /// What the last failure said.
    said: String,
}

impl Standing {
    /// Why it gets no calls, or only one.
    pub(super) fn ejection(&self) -> Option<Ejection> {
        self.ejection
            .filter(|ejection| Instant::now() < ejection.until + FORGOTTEN)
    }

    /// Whether it is to get a call: it is not ejected, or has rested.
    pub(super) fn is_ready(&self) -> bool {
        self.ejection().is_none_or(|ejection| ejection.until <= Instant::now())
    }

    /// It gets a call, which begins now; one that has rested gets the one call that sees how it does.
    pub(super) fn begin(&mut self) -> Instant {
        let now = Instant::now();
        if self.ejection().is_none() && self.ejection.take().is_some() {
            self.ejections = 0;
        }
        if let Some(ejection) = &mut self.ejection
            && ejection.until <= now
        {
            ejection.since = now;
            ejection.until = now + REST.after(self.ejections);
        }
        now
    }

    /// What the last failure said, of which the beginning is kept.
    pub(super) fn said(&self) -> &str {
        &self.said
    }

    /// A failure said this.
    pub(super) fn say(&mut self, said: &str) {
        self.said.clear();
        self.said.extend(said.chars().take(MAX_SAID_CHARS));
    }

    /// A call that began then has failed, which counts as so many. Whether the server is ejected by it.
    pub(super) fn failed(&mut self, began: Instant, fault: Fault, failures: u32) -> bool {
        if !self.is_told_by(began) {
            return false;
        }
        self.failures += failures;
        (self.ejection.is_some() || self.failures >= MAX_FAILURES) && self.eject(fault)
    }

    /// It rests from now on. Whether it did not before.
    pub(super) fn eject(&mut self, fault: Fault) -> bool {
        let since = Instant::now();
        self.ejections += 1;
        let until = since + REST.after(self.ejections);
        let new = self.ejection.is_none();
        self.ejection = Some(Ejection { fault, since, until });
        (self.failures, self.answers) = (0, 0);
        new
    }

    /// A call that began then has worked. Whether the server comes back by it.
    pub(super) fn worked(&mut self, began: Instant) -> bool {
        if !self.is_told_by(began) {
            return false;
        }
        (self.failures, self.ejections) = (0, 0);
        self.ejection.take().is_some()
    }

    fn is_told_by(&self, began: Instant) -> bool {
        self.ejection.is_none_or(|ejection| began >= ejection.since)
    }

    /// It took so long to answer one of so many calls. A server that has more of them is not slow for that, so each has a
    /// part of the time.
    pub(super) fn answered(&mut self, took: Duration, calls: u32) {
        self.answers = self.answers.saturating_add(1);
        // The mean of all answers at first, then ever less of the old ones.
        let weight = self.answers.min(MIN_ANSWERS);
        self.latency = (self.latency * (weight - 1) + took / calls) / weight;
    }

    /// How long it takes to answer, once that is known.
    pub(super) fn latency(&self) -> Option<Duration> {
        (self.answers >= MIN_ANSWERS).then_some(self.latency)
    }
}

/// Whether a latency is that of a slow server among others.
pub(super) fn is_slow(latency: Duration, others: Duration) -> bool {
    latency > others * SLOW_TIMES && latency > others + SLOW_MORE
}

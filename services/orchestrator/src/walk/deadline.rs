//! Deadline propagation: the time of a walk, and the share of it that each hop may use (R11).
//!
//! The deadline of a walk is a reserve earlier than the caller's, so that the result arrives in
//! time. A hop gets a share of the remaining time, never all of it, so that time is left for the
//! next hop however slow the services are. A hop that uses up its share ends in the outcome
//! `unavailable`, from which the graph goes on. A walk that is short of time therefore returns a
//! worse result, with ungraded passages, with an ungraded answer, or without an answer, instead of
//! missing the deadline.

use emend_core::{Deadline, Reserve};

/// The part of the remaining time that one hop may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// Hops before the answer: searching, grading passages, rewriting.
    Half,
    /// Writing the answer.
    ThreeQuarters,
    /// Grading the answer; little is left to do after it.
    NineTenths,
}

/// The deadline of a walk for a caller with the deadline `caller`.
pub(crate) fn walk_deadline(caller: Deadline) -> Deadline {
    caller.keeping(Reserve::WALK_RESULT)
}

/// The deadline of a hop that starts now.
pub(crate) fn hop_deadline(walk: Deadline, share: Share) -> Deadline {
    let (part, of) = match share {
        Share::Half => (1, 2),
        Share::ThreeQuarters => (3, 4),
        Share::NineTenths => (9, 10),
    };
    Deadline::after(walk.remaining() * part / of)
}

#[cfg(test)]
mod tests;

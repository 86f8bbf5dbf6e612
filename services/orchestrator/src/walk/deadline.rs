//! The time a walk has, and what each hop gets of it (R11).
//!
//! The walk's own deadline lies a margin before the caller's, so that the result still gets there. A hop gets a share of
//! what is left then, never all of it: however slow the services are, something is always left for the next hop, and a
//! hop that used up its share is an outcome like any other (`unavailable`), from which the graph goes on. So an answer
//! degrades step by step, from ungraded passages over an ungraded answer to abstaining, instead of missing the deadline.

use emend_core::{Deadline, Reserve};

/// The part of the remaining time that one hop may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// What comes before the answer: searching, grading passages, rewriting.
    Half,
    /// Writing the answer.
    ThreeQuarters,
    /// Grading the answer, after which there is little left to do.
    NineTenths,
}

/// When the walk must have ended, for a caller that wants its result by `caller`.
pub(crate) fn walk_deadline(caller: Deadline) -> Deadline {
    caller.keeping(Reserve::WALK_RESULT)
}

/// When a hop that starts now must have ended.
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

//! The time a walk has, and what each hop gets of it (R11).
//!
//! The walk's own deadline lies a margin before the caller's, so that the result still gets there. A hop gets a share of
//! what is left then, never all of it: however slow the services are, something is always left for the next hop, and a
//! hop that used up its share is an outcome like any other (`unavailable`), from which the graph goes on. So an answer
//! degrades step by step, from ungraded passages over an ungraded answer to abstaining, instead of missing the deadline.

use std::time::Duration;

use emend_chassis::Deadline;

/// The largest margin between the walk's deadline and the caller's.
const LARGEST_MARGIN: Duration = Duration::from_millis(500);
/// The margin is this part of the time there is, where that is less.
const MARGIN_PART: u32 = 20;

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
    let margin = (caller.remaining() / MARGIN_PART).min(LARGEST_MARGIN);
    caller.minus(margin)
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
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn r11_the_walk_ends_before_the_caller_stops_waiting() {
        let second = walk_deadline(Deadline::after(Duration::from_secs(1)));
        assert_eq!(second.remaining(), Duration::from_millis(950));
        let minute = walk_deadline(Deadline::after(Duration::from_secs(60)));
        assert_eq!(minute.remaining(), Duration::from_millis(59_500));
    }

    #[tokio::test(start_paused = true)]
    async fn r11_hops_that_use_up_their_shares_leave_something_to_the_next() {
        let walk = Deadline::after(Duration::from_secs(8));
        for left in [4, 2, 1] {
            let hop = hop_deadline(walk, Share::Half);
            tokio::time::sleep_until(hop.instant()).await;
            assert_eq!(walk.remaining(), Duration::from_secs(left));
        }
    }
}

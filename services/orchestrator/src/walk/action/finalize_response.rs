//! Settles on the best answer so far.

use super::{Report, StepContext};
use crate::{graph::FinalizeResponseOutcome, walk::state::Verdict};

pub(super) fn run(context: &StepContext<'_>) -> (FinalizeResponseOutcome, Report) {
    let state = &context.state;
    let best = state.best();
    if state.abstained.is_some() {
        // The last generation abstained. That withdraws any earlier answer, which had less evidence (R8), but for one
        // that is in doubt alone: the generator was asked for another one and knows none.
        return match best.filter(|best| best.is_doubtful()) {
            Some(best) => (
                FinalizeResponseOutcome::Unverified,
                Report::of(format!(
                    "generation {} is in doubt, and there is no other answer",
                    best.number
                )),
            ),
            None => (
                FinalizeResponseOutcome::NoAnswer,
                Report::of("the generator found no answer in the evidence"),
            ),
        };
    }
    match best {
        None => (FinalizeResponseOutcome::NoAnswer, Report::of("there is no answer")),
        Some(best) if best.verdict == Verdict::Passed => (
            FinalizeResponseOutcome::Verified,
            Report::of(format!("generation {} passed", best.number)),
        ),
        Some(best) => (
            FinalizeResponseOutcome::Unverified,
            Report::of(format!("generation {} is the best so far", best.number)),
        ),
    }
}

//! Settles on the best answer so far.

use super::{Report, StepContext};
use crate::{graph::FinalizeResponseOutcome, walk::state::Verdict};

pub(super) fn run(context: &StepContext<'_>) -> (FinalizeResponseOutcome, Report) {
    let state = &context.state;
    if let Some(in_doubt) = state.in_doubt() {
        return (FinalizeResponseOutcome::Unverified, Report::of(in_doubt.doubt()));
    }
    if state.abstained.is_some() {
        return (
            FinalizeResponseOutcome::NoAnswer,
            Report::of("the generator found no answer in the evidence"),
        );
    }
    match state.best() {
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

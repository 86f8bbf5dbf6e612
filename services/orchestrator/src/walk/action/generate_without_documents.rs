//! Writes an answer without evidence. Such an answer is never graded for groundedness, and its
//! status is UNGROUNDED at best (R7).

use super::{
    Ended, Report, StepContext,
    generate::{attempt, summary, write},
};
use crate::graph::{GenerateWithoutDocumentsOutcome, Options, Writing};

pub(super) async fn run(
    context: &mut StepContext<'_>,
    writing: Writing,
    options: &Options,
) -> Ended<GenerateWithoutDocumentsOutcome> {
    let (finished, number) = match write(context, &[], writing, options).await? {
        Ok(written) => written,
        Err(failure) => {
            return Ok((GenerateWithoutDocumentsOutcome::Unavailable, Report::failed(&failure)));
        }
    };
    let report = Report::of(summary(&finished)).costing(finished.usage);
    if finished.abstained {
        context.state.abstained = Some(finished.answer);
        return Ok((GenerateWithoutDocumentsOutcome::Abstained, report));
    }
    context.state.abstained = None;
    context.state.attempts.push(attempt(finished, number, [].into()));
    Ok((GenerateWithoutDocumentsOutcome::Generated, report))
}

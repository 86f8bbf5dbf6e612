//! Writes an answer from the model alone. It is never graded for groundedness and never ends better than UNGROUNDED (R7).

use super::{
    Desk, Ended, Report,
    generate::{attempt, summary, write},
};
use crate::graph::{GenerateWithoutDocumentsOutcome, Options, Writing};

pub(super) async fn run(
    desk: &mut Desk<'_>,
    writing: Writing,
    options: &Options,
) -> Ended<GenerateWithoutDocumentsOutcome> {
    let (finished, number) = match write(desk, &[], writing, options).await? {
        Ok(written) => written,
        Err(failure) => {
            return Ok((GenerateWithoutDocumentsOutcome::Unavailable, Report::failed(&failure)));
        }
    };
    let report = Report::of(summary(&finished)).costing(finished.usage);
    if finished.abstained {
        desk.state.abstained = Some(finished.answer);
        return Ok((GenerateWithoutDocumentsOutcome::Abstained, report));
    }
    desk.state.abstained = None;
    desk.state.attempts.push(attempt(finished, number, [].into()));
    Ok((GenerateWithoutDocumentsOutcome::Generated, report))
}

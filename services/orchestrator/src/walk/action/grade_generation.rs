//! Grades the latest answer against the evidence and against the original question (R2), at the same time (R9).

use super::{
    Ended, Report, StepContext,
    grades::{Wanted, grade, tell, verdict, without_grade},
};
use crate::{
    graph::{GradeGenerationOutcome, MinimumSupport},
    walk::state::Verdict,
};

pub(super) async fn run(context: &mut StepContext<'_>, minimum: MinimumSupport) -> Ended<GradeGenerationOutcome> {
    if let Some(number) = context.state.take_earlier_grades() {
        // Grading it again would change nothing (R3).
        tell(context, 0).await?;
        let report = Report::of(format!("not useful, as generation {number}, which says the same"));
        return Ok((GradeGenerationOutcome::NotUseful, report));
    }
    let (grades, report) = grade(context, Wanted::Both(minimum)).await?;
    let verdict = grades.map_or(Verdict::Ungraded, |grades| verdict(grades.supported, grades.useful));
    Ok(match verdict {
        Verdict::Passed => (GradeGenerationOutcome::Useful, report),
        Verdict::NotSupported => (GradeGenerationOutcome::NotSupported, report),
        Verdict::NotUseful => (GradeGenerationOutcome::NotUseful, report),
        Verdict::Ungraded => (GradeGenerationOutcome::Unavailable, without_grade(report)),
    })
}

//! Grades the latest answer against the evidence and against the original question (R2), at the same time (R9).

use super::{
    Ended, StepContext,
    grades::{Wanted, grade, verdict, without_grade},
};
use crate::{
    graph::{GradeGenerationOutcome, MinimumSupport},
    walk::state::Verdict,
};

pub(super) async fn run(context: &mut StepContext<'_>, minimum: MinimumSupport) -> Ended<GradeGenerationOutcome> {
    let (grades, report) = grade(context, Wanted::Both(minimum)).await?;
    let verdict = grades.map_or(Verdict::Ungraded, |grades| verdict(grades.supported, grades.useful));
    Ok(match verdict {
        Verdict::Passed => (GradeGenerationOutcome::Useful, report),
        Verdict::NotSupported => (GradeGenerationOutcome::NotSupported, report),
        Verdict::NotUseful => (GradeGenerationOutcome::NotUseful, report),
        Verdict::Ungraded => (GradeGenerationOutcome::Unavailable, without_grade(report)),
    })
}

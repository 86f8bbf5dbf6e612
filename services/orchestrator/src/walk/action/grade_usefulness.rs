//! Grades the latest answer against the original question alone (R2).

use super::{
    Ended, StepContext,
    grades::{Wanted, grade, without_grade},
};
use crate::graph::GradeUsefulnessOutcome;

pub(super) async fn run(context: &mut StepContext<'_>) -> Ended<GradeUsefulnessOutcome> {
    let (grades, report) = grade(context, Wanted::Usefulness).await?;
    Ok(match grades.and_then(|grades| grades.useful) {
        Some(true) => (GradeUsefulnessOutcome::Useful, report),
        Some(false) => (GradeUsefulnessOutcome::NotUseful, report),
        None => (GradeUsefulnessOutcome::Unavailable, without_grade(report)),
    })
}

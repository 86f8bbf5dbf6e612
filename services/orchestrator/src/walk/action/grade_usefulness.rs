//! Grades the latest answer against the original question alone.

use super::{
    Desk, Ended,
    grades::{Wanted, grade, without_grade},
};
use crate::graph::GradeUsefulnessOutcome;

pub(super) async fn run(desk: &mut Desk<'_>) -> Ended<GradeUsefulnessOutcome> {
    let (grades, report) = grade(desk, Wanted::Usefulness).await?;
    Ok(match grades.and_then(|grades| grades.useful) {
        Some(true) => (GradeUsefulnessOutcome::Useful, report),
        Some(false) => (GradeUsefulnessOutcome::NotUseful, report),
        None => (GradeUsefulnessOutcome::Unavailable, without_grade(report)),
    })
}

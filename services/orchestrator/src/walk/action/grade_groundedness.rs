//! Grades the latest answer against the evidence alone.

use super::{
    Ended, StepContext,
    grades::{Wanted, grade, without_grade},
};
use crate::graph::{GradeGroundednessOutcome, MinimumSupport};

pub(super) async fn run(context: &mut StepContext<'_>, minimum: MinimumSupport) -> Ended<GradeGroundednessOutcome> {
    let (grades, report) = grade(context, Wanted::Groundedness(minimum)).await?;
    Ok(match grades.and_then(|grades| grades.supported) {
        Some(true) => (GradeGroundednessOutcome::Supported, report),
        Some(false) => (GradeGroundednessOutcome::NotSupported, report),
        None => (GradeGroundednessOutcome::Unavailable, without_grade(report)),
    })
}

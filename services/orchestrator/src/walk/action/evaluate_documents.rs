//! Evaluates the passages held together, as Corrective RAG does, and drops all of them if none
//! could help.

use emend_proto::v1::{Evaluation, GradeDocumentsRequest, Relevance};

use super::{
    Ended, Report, StepContext,
    grade_documents::{grade, mark},
};
use crate::graph::EvaluateDocumentsOutcome;

pub(super) async fn run(
    context: &mut StepContext<'_>,
    upper: Option<f64>,
    lower: Option<f64>,
) -> Ended<EvaluateDocumentsOutcome> {
    if context.state.held.is_empty() {
        let report = Report::of("no passage to evaluate");
        return Ok((EvaluateDocumentsOutcome::Incorrect, report));
    }
    let request = GradeDocumentsRequest {
        passages: context.state.held.iter().map(|held| held.passage.clone()).collect(),
        upper_threshold: upper,
        lower_threshold: lower,
        ..GradeDocumentsRequest::default()
    };
    let mut report = Report::default();
    let evaluation = grade(context, request, &mut report).await.evaluation;
    mark(&mut context.state);
    let graded = context
        .state
        .held
        .iter()
        .any(|held| matches!(held.relevance, Relevance::Relevant | Relevance::Irrelevant));
    let outcome = match evaluation {
        // Without a grade it is unknown whether any passage helps (R4).
        _ if !graded => EvaluateDocumentsOutcome::Unavailable,
        Evaluation::Correct => EvaluateDocumentsOutcome::Correct,
        Evaluation::Ambiguous => EvaluateDocumentsOutcome::Ambiguous,
        Evaluation::Incorrect => EvaluateDocumentsOutcome::Incorrect,
        Evaluation::Unspecified => EvaluateDocumentsOutcome::Unavailable,
    };
    if outcome == EvaluateDocumentsOutcome::Unavailable && report.error.is_empty() {
        "grader: no evaluation came".clone_into(&mut report.error);
    }
    let kept = outcome != EvaluateDocumentsOutcome::Incorrect;
    report = report.showing(context.state.held.iter().map(|held| held.graded(kept)).collect());
    let held = context.state.held.len();
    report.summary = best_score(context).map_or_else(
        || format!("none of {held} has a score"),
        |score| format!("the best of {held} has {score:.2}"),
    );
    if !kept {
        context.state.held.clear();
    }
    Ok((outcome, report))
}

fn best_score(context: &StepContext<'_>) -> Option<f64> {
    context
        .state
        .held
        .iter()
        .filter_map(|held| held.score)
        .max_by(f64::total_cmp)
}

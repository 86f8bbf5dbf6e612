//! Relevance of passages, and the evaluation over all of them.

use emend_core::{Scope, semconv};
use emend_proto::v1::{DocumentGrade, Evaluation, GradeDocumentsRequest, GradeDocumentsResponse, Passage, Relevance};
use tracing::{Instrument, Span, info_span};

use crate::backend::{Backend, Grade, Thresholds};
use crate::error::GradeError;

pub(crate) async fn grade(
    backend: &dyn Backend,
    request: GradeDocumentsRequest,
    scope: &Scope,
) -> Result<GradeDocumentsResponse, GradeError> {
    let thresholds = effective(backend.thresholds(), &request);
    let span = info_span!(
        "grade relevance",
        { semconv::GEN_AI_EVALUATION_NAME } = "relevance",
        { semconv::GEN_AI_EVALUATION_SCORE_VALUE } = tracing::field::Empty,
        { semconv::GEN_AI_EVALUATION_SCORE_LABEL } = tracing::field::Empty,
        emend.passages = request.passages.len(),
        emend.ungraded = tracing::field::Empty,
    );
    let graded = backend
        .relevance(&request.question, &request.passages, scope)
        .instrument(span.clone())
        .await;
    if graded.grades.iter().all(Grade::is_out_of_time) {
        return Err(GradeError::OutOfTime {
            model_calls: graded.usage.model_calls,
        });
    }
    let evaluation = evaluate(&graded.grades, thresholds);
    record(&span, &graded.grades, evaluation);
    let grades = request
        .passages
        .into_iter()
        .zip(graded.grades)
        .map(|(passage, grade)| document(passage, grade, thresholds));
    Ok(GradeDocumentsResponse {
        grades: grades.collect(),
        evaluation: evaluation.into(),
        usage: Some(graded.usage),
    })
}

/// The thresholds in force: those of the request, otherwise the backend's. If the request sets only
/// one of upper and lower, the other is moved as far as necessary to keep lower at most upper.
fn effective(calibrated: Thresholds, request: &GradeDocumentsRequest) -> Thresholds {
    let (upper, lower) = match (request.upper_threshold, request.lower_threshold) {
        (Some(upper), Some(lower)) => (upper, lower),
        (Some(upper), None) => (upper, calibrated.lower.min(upper)),
        (None, Some(lower)) => (calibrated.upper.max(lower), lower),
        (None, None) => (calibrated.upper, calibrated.lower),
    };
    Thresholds {
        relevance: request.relevance_threshold.unwrap_or(calibrated.relevance),
        upper,
        lower,
        ..calibrated
    }
}

/// Corrective RAG's evaluation: correct if any score is at least `upper`, incorrect if all scores
/// are below `lower`, otherwise ambiguous. A passage without a grade makes the evaluation neither
/// correct nor incorrect (R4).
fn evaluate(grades: &[Grade<f64>], thresholds: Thresholds) -> Evaluation {
    if grades
        .iter()
        .filter_map(Grade::graded)
        .any(|score| *score >= thresholds.upper)
    {
        Evaluation::Correct
    } else if grades
        .iter()
        .all(|grade| grade.graded().is_some_and(|score| *score < thresholds.lower))
    {
        Evaluation::Incorrect
    } else {
        Evaluation::Ambiguous
    }
}

fn document(passage: Passage, grade: Grade<f64>, thresholds: Thresholds) -> DocumentGrade {
    let (relevance, score, error) = match grade {
        Grade::Graded(score) if score >= thresholds.relevance => (Relevance::Relevant, Some(score), String::new()),
        Grade::Graded(score) => (Relevance::Irrelevant, Some(score), String::new()),
        Grade::Ungraded(reason) => (Relevance::Ungraded, None, reason.to_string()),
    };
    DocumentGrade {
        passage_id: passage.id,
        relevance: relevance.into(),
        score,
        error,
    }
}

fn record(span: &Span, grades: &[Grade<f64>], evaluation: Evaluation) {
    if let Some(best) = grades.iter().filter_map(Grade::graded).copied().reduce(f64::max) {
        span.record(semconv::GEN_AI_EVALUATION_SCORE_VALUE, best);
    }
    let label = match evaluation {
        Evaluation::Correct => "correct",
        Evaluation::Incorrect => "incorrect",
        Evaluation::Ambiguous | Evaluation::Unspecified => "ambiguous",
    };
    span.record(semconv::GEN_AI_EVALUATION_SCORE_LABEL, label);
    span.record(
        "emend.ungraded",
        grades.iter().filter(|grade| grade.graded().is_none()).count(),
    );
}

#[cfg(test)]
mod tests;

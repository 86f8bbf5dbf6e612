//! Usefulness of an answer to its question.

use emend_core::{Scope, semconv};
use emend_proto::v1::{GradeUsefulnessRequest, GradeUsefulnessResponse};
use tracing::{Instrument, info_span};

use crate::backend::{Backend, Grade};
use crate::error::GradeError;

pub(crate) async fn grade(
    backend: &dyn Backend,
    request: GradeUsefulnessRequest,
    scope: &Scope,
) -> Result<GradeUsefulnessResponse, GradeError> {
    let span = info_span!(
        "grade usefulness",
        { semconv::GEN_AI_EVALUATION_NAME } = "usefulness",
        { semconv::GEN_AI_EVALUATION_SCORE_VALUE } = tracing::field::Empty,
        { semconv::GEN_AI_EVALUATION_SCORE_LABEL } = tracing::field::Empty,
    );
    let graded = backend
        .usefulness(&request.question, &request.answer, &request.passages, scope)
        .instrument(span.clone())
        .await;
    let mut response = GradeUsefulnessResponse {
        usage: Some(graded.usage),
        ..GradeUsefulnessResponse::default()
    };
    let label = match graded.grades {
        grade if grade.is_out_of_time() => {
            return Err(GradeError::OutOfTime {
                model_calls: graded.usage.model_calls,
            });
        }
        Grade::Graded(grade) => {
            span.record(semconv::GEN_AI_EVALUATION_SCORE_VALUE, grade.score);
            response.utility = Some(u32::from(grade.utility));
            response.score = Some(grade.score);
            response.useful = Some(grade.useful);
            response.expected_utility = Some(grade.expected);
            if grade.useful { "useful" } else { "not_useful" }
        }
        Grade::Ungraded(reason) => {
            response.error = reason.to_string();
            "ungraded"
        }
    };
    span.record(semconv::GEN_AI_EVALUATION_SCORE_LABEL, label);
    Ok(response)
}

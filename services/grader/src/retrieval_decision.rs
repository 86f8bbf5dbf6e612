//! Decides whether the next segment of an answer needs retrieval.

use emend_core::{Scope, semconv};
use emend_proto::v1::{DecideRetrievalRequest, DecideRetrievalResponse, RetrievalDecision};
use tracing::{Instrument, info_span};

use crate::backend::{Backend, Grade, Retrieval};
use crate::error::GradeError;

/// Default threshold: evidence is retrieved if the probability of YES is above it. It is that of
/// Self-RAG.
const THRESHOLD: f64 = 0.2;

pub(crate) async fn decide(
    backend: &dyn Backend,
    mut request: DecideRetrievalRequest,
    scope: &Scope,
) -> Result<DecideRetrievalResponse, GradeError> {
    // A passage without text is no evidence to continue with.
    request.passages.retain(|passage| !passage.text.trim().is_empty());
    let threshold = request.threshold.unwrap_or(THRESHOLD);
    let span = info_span!(
        "decide retrieval",
        { semconv::GEN_AI_EVALUATION_NAME } = "retrieval",
        { semconv::GEN_AI_EVALUATION_SCORE_VALUE } = tracing::field::Empty,
        { semconv::GEN_AI_EVALUATION_SCORE_LABEL } = tracing::field::Empty,
        emend.passages = request.passages.len(),
    );
    let graded = backend
        .retrieval(&request.question, &request.answer_so_far, &request.passages, scope)
        .instrument(span.clone())
        .await;
    let mut response = DecideRetrievalResponse {
        usage: Some(graded.usage),
        ..DecideRetrievalResponse::default()
    };
    let decision = match graded.grades {
        grade if grade.is_out_of_time() => {
            return Err(GradeError::OutOfTime {
                model_calls: graded.usage.model_calls,
            });
        }
        Grade::Graded(retrieval) => {
            span.record(semconv::GEN_AI_EVALUATION_SCORE_VALUE, retrieval.yes);
            response.probability = Some(retrieval.yes);
            decision(retrieval, threshold, !request.passages.is_empty())
        }
        Grade::Ungraded(reason) => {
            response.error = reason.to_string();
            RetrievalDecision::Ungraded
        }
    };
    response.set_decision(decision);
    let label = match decision {
        RetrievalDecision::Yes => "yes",
        RetrievalDecision::No => "no",
        RetrievalDecision::Continue => "continue",
        RetrievalDecision::Ungraded | RetrievalDecision::Unspecified => "ungraded",
    };
    span.record(semconv::GEN_AI_EVALUATION_SCORE_LABEL, label);
    Ok(response)
}

/// YES above the threshold, otherwise the more likely of CONTINUE and NO. If both are equally
/// likely, because YES has all the probability but is not above the threshold, CONTINUE is closer
/// to it.
fn decision(retrieval: Retrieval, threshold: f64, has_evidence: bool) -> RetrievalDecision {
    let no = 1.0 - retrieval.yes - retrieval.continues;
    if retrieval.yes > threshold {
        RetrievalDecision::Yes
    } else if has_evidence && retrieval.continues >= no {
        RetrievalDecision::Continue
    } else {
        RetrievalDecision::No
    }
}

#[cfg(test)]
mod tests;

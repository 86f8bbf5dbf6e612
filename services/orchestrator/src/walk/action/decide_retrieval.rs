//! Decides whether the next segment of the answer needs retrieval.

use emend_proto::v1::{DecideRetrievalRequest, RetrievalDecision};

use super::{Ended, Report, StepContext};
use crate::{graph::DecideRetrievalOutcome, walk::deadline::Share};

pub(super) async fn run(context: &mut StepContext<'_>, threshold: Option<f64>) -> Ended<DecideRetrievalOutcome> {
    match threshold {
        Some(threshold) if threshold < 0.0 => {
            let report = Report::of("evidence is always retrieved");
            return Ok((DecideRetrievalOutcome::Retrieve, report));
        }
        Some(threshold) if threshold >= 1.0 => {
            let report = Report::of("evidence is never retrieved");
            return Ok((DecideRetrievalOutcome::NoRetrieval, report));
        }
        _ => {}
    }
    let request = DecideRetrievalRequest {
        question: context.state.question().text().to_owned(),
        answer_so_far: context
            .state
            .beam
            .iter()
            .find(|hypothesis| !hypothesis.complete)
            .map(|best| best.answer.clone())
            .unwrap_or_default(),
        passages: context.state.held.iter().map(|held| held.passage.clone()).collect(),
        threshold,
    };
    let response = match context
        .services
        .decide_retrieval(request, context.hop(Share::Half))
        .await
    {
        Ok(response) => response,
        Err(failure) => return Ok((DecideRetrievalOutcome::Unavailable, Report::failed(&failure))),
    };
    let outcome = match response.decision() {
        RetrievalDecision::Yes => DecideRetrievalOutcome::Retrieve,
        RetrievalDecision::No => DecideRetrievalOutcome::NoRetrieval,
        // There is no evidence to continue with.
        RetrievalDecision::Continue if context.state.held.is_empty() => DecideRetrievalOutcome::Retrieve,
        RetrievalDecision::Continue => DecideRetrievalOutcome::Continue,
        RetrievalDecision::Ungraded | RetrievalDecision::Unspecified => DecideRetrievalOutcome::Unavailable,
    };
    let probability = response
        .probability
        .map_or_else(|| "unknown".to_owned(), |probability| format!("{probability:.2}"));
    let mut report = Report::of(format!("evidence is needed with probability {probability}")).costing(response.usage);
    if !response.error.is_empty() {
        report.error = format!("grader: {}", response.error);
    } else if outcome == DecideRetrievalOutcome::Unavailable {
        "grader: no decision came".clone_into(&mut report.error);
    }
    Ok((outcome, report))
}

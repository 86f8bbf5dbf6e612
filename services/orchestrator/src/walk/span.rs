//! The spans of a walk: one for the whole, and below it one for each step, which tells the edge that was taken after it (R14).

use emend_core::{ServiceError as _, error_chain, fail_span, semconv};
use emend_proto::v1::{EdgeTaken, WalkResult, WalkStatus};
use tracing::{Span, field::Empty, info_span};

use super::{action::Report, error::WalkError};

/// The span of a walk of this graph.
pub(super) fn of_walk(graph: &str) -> Span {
    info_span!(
        "invoke_workflow",
        otel.name = format!("invoke_workflow {graph}"),
        { semconv::OTEL_STATUS_CODE } = Empty,
        { semconv::OTEL_STATUS_DESCRIPTION } = Empty,
        { semconv::GEN_AI_OPERATION_NAME } = "invoke_workflow",
        { semconv::GEN_AI_WORKFLOW_NAME } = graph,
        { semconv::EMEND_WALK_STATUS } = Empty,
        { semconv::EMEND_WALK_STEPS } = Empty,
        { semconv::ERROR_TYPE } = Empty,
    )
}

/// Marks a walk as failed that ended in an error, or that a service left without an answer. An abstention is no failure.
pub(super) fn walk_ended(span: &Span, ended: &Result<WalkResult, WalkError>) {
    match ended {
        Ok(result) if result.status() == WalkStatus::Failed => {
            let (code, cause) = result
                .failure
                .as_ref()
                .map_or(("", ""), |failure| (&failure.code, &failure.cause));
            fail_span(span, code, cause);
        }
        Ok(_) => {}
        Err(error) => fail_span(span, error.code().name(), &error_chain(error)),
    }
}

/// The span of a step: the `visit`th of its node.
pub(super) fn of_step(number: u32, node: &str, action: &str, visit: u32) -> Span {
    info_span!(
        "step",
        otel.name = node,
        { semconv::OTEL_STATUS_CODE } = Empty,
        { semconv::OTEL_STATUS_DESCRIPTION } = Empty,
        { semconv::EMEND_STEP_NUMBER } = number,
        { semconv::EMEND_NODE } = node,
        { semconv::EMEND_NODE_VISIT } = visit,
        { semconv::EMEND_ACTION } = action,
        { semconv::EMEND_OUTCOME } = Empty,
        { semconv::EMEND_EDGE_TO } = Empty,
        { semconv::EMEND_EDGE_CONDITION } = Empty,
        { semconv::EMEND_EDGE_REASON } = Empty,
        { semconv::ERROR_TYPE } = Empty,
    )
}

/// Tells how a step ended; as failed where a service did not answer.
pub(super) fn step_ended(span: &Span, outcome: &str, report: &Report) {
    span.record(semconv::EMEND_OUTCOME, outcome);
    if !report.error.is_empty() {
        let code = report
            .failure
            .as_ref()
            .map_or(semconv::ERROR_TYPE_OTHER, |failure| failure.code.name());
        fail_span(span, code, &report.error);
    }
}

/// Marks a step as failed that ended the walk in an error.
pub(super) fn step_failed(span: &Span, error: &WalkError) {
    fail_span(span, error.code().name(), &error_chain(error));
}

/// Tells which edge was taken after a step, and why.
pub(super) fn edge_taken(span: &Span, edge: &EdgeTaken) {
    span.record(semconv::EMEND_EDGE_TO, &edge.to);
    span.record(semconv::EMEND_EDGE_REASON, &edge.reason);
    if !edge.condition.is_empty() {
        span.record(semconv::EMEND_EDGE_CONDITION, &edge.condition);
    }
}

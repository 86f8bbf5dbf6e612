//! The spans of a walk: one for the whole, and below it one for each step, which tells the edge that was taken after it (R14).

use emend_core::{ServiceError as _, error_chain, fail_span, semconv};
use emend_proto::v1::{EdgeTaken, WalkResult, WalkStatus, chat_message::Role};
use serde_json::{Value, json};
use tracing::{Span, field::Empty, info_span};

use super::{action::Report, error::WalkError, question::Question, state::State};
use crate::graph::{Action, Purpose};

/// Most messages of a conversation in a span, the latest; most passages of a step.
const MAX_MESSAGES: usize = 10;
const MAX_PASSAGES: usize = 20;
/// Most bytes of a message in a span, and of a passage.
const MAX_MESSAGE_BYTES: usize = 16 * 1024;
const MAX_PASSAGE_BYTES: usize = 2 * 1024;

/// The span of a walk of this graph, for the caller with this key.
pub(super) fn of_walk(graph: &str, key: Option<&str>) -> Span {
    info_span!(
        "invoke_workflow",
        otel.name = format!("invoke_workflow {graph}"),
        { semconv::OTEL_STATUS_CODE } = Empty,
        { semconv::OTEL_STATUS_DESCRIPTION } = Empty,
        { semconv::GEN_AI_OPERATION_NAME } = "invoke_workflow",
        { semconv::GEN_AI_WORKFLOW_NAME } = graph,
        { semconv::EMEND_KEY_NAME } = key,
        { semconv::EMEND_WALK_STATUS } = Empty,
        { semconv::EMEND_WALK_STEPS } = Empty,
        { semconv::GEN_AI_INPUT_MESSAGES } = Empty,
        { semconv::GEN_AI_OUTPUT_MESSAGES } = Empty,
        { semconv::ERROR_TYPE } = Empty,
    )
}

/// The status of a result as spans and metrics have it, for example `ANSWERED`.
pub(super) fn status_name(result: &WalkResult) -> &'static str {
    let status = result.status().as_str_name();
    status.strip_prefix("WALK_STATUS_").unwrap_or(status)
}

/// Tells what was asked, after the latest messages of its conversation. Only for where content is recorded.
pub(super) fn asked(span: &Span, question: &Question) {
    let history = question.history();
    let latest = &history[history.len().saturating_sub(MAX_MESSAGES)..];
    let mut messages: Vec<Value> = latest
        .iter()
        .map(|turn| match turn.role() {
            Role::Assistant => message("assistant", &turn.content),
            Role::User | Role::Unspecified => message("user", &turn.content),
        })
        .collect();
    messages.push(message("user", question.text()));
    span.record(
        semconv::GEN_AI_INPUT_MESSAGES,
        Value::Array(messages).to_string().as_str(),
    );
}

/// Tells what a step searched for and what it found, with scores. Only for where content is recorded.
pub(super) fn found(span: &Span, action: Action, state: &State, report: &Report) {
    let query = match action {
        Action::Retrieve => state.query(Purpose::Retrieval),
        Action::WebSearch | Action::RefineAndSearch => state.query(Purpose::WebSearch),
        _ => return,
    };
    let documents: Vec<Value> = report
        .passages
        .iter()
        .filter_map(|graded| graded.passage.as_ref())
        .take(MAX_PASSAGES)
        .map(|passage| json!({"id": passage.id, "score": passage.score, "content": cut(&passage.text, MAX_PASSAGE_BYTES)}))
        .collect();
    span.record(semconv::GEN_AI_RETRIEVAL_QUERY_TEXT, query);
    span.record(
        semconv::GEN_AI_RETRIEVAL_DOCUMENTS,
        Value::Array(documents).to_string().as_str(),
    );
}

/// A message as the conventions have it.
fn message(role: &str, text: &str) -> Value {
    json!({"role": role, "parts": [{"type": "text", "content": cut(text, MAX_MESSAGE_BYTES)}]})
}

fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Tells how a walk ended: as failed where it ended in an error or a service left it without an answer. An abstention is no
/// failure. The answer is told only where content is recorded.
pub(super) fn walk_ended(span: &Span, ended: &Result<WalkResult, WalkError>, content: bool) {
    match ended {
        Ok(result) => {
            span.record(semconv::EMEND_WALK_STATUS, status_name(result));
            span.record(semconv::EMEND_WALK_STEPS, result.steps.len());
            if content && result.message.is_some() {
                let mut answer = message("assistant", &result.answer);
                answer["finish_reason"] = "stop".into();
                let answer = Value::Array(vec![answer]).to_string();
                span.record(semconv::GEN_AI_OUTPUT_MESSAGES, answer.as_str());
            }
            if result.status() == WalkStatus::Failed {
                let (code, cause) = result
                    .failure
                    .as_ref()
                    .map_or(("", ""), |failure| (&failure.code, &failure.cause));
                fail_span(span, code, cause);
            }
        }
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
        { semconv::GEN_AI_RETRIEVAL_QUERY_TEXT } = Empty,
        { semconv::GEN_AI_RETRIEVAL_DOCUMENTS } = Empty,
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

//! Walks of the built-in graphs over scripted services.

mod bound;
mod budgets;
mod conversation;
mod corrective;
mod degraded;
pub(crate) mod differential;
mod events;
mod failed;
mod long;
mod own_graphs;
mod paths;
mod ranking;
mod reflective;
mod refused;
mod rerank;
mod rules;
mod self_corrective;
mod spans;
mod texts;
mod web;

use std::{sync::Arc, time::Duration};

use emend_core::Deadline;
use emend_proto::v1::{self, WalkResult, WalkStatus};

use super::{Events, WalkError, WalkMetrics, question::Question, scripted::Scripted, walk};
use crate::{
    catalog::builtin,
    graph::{Graph, Options},
    walk::WalkRequest,
};

const QUESTION: &str = "Since when does the lighthouse of Arran stand?";

/// A walk with a deadline that it never reaches.
async fn ask(graph: &str, services: &Scripted) -> WalkResult {
    ask_with(graph, &[], services, Duration::from_secs(60)).await.unwrap()
}

async fn ask_with(
    graph: &str,
    options: &[(&str, f64)],
    services: &Scripted,
    timeout: Duration,
) -> Result<WalkResult, WalkError> {
    walk(
        walk_request(graph, options),
        services,
        Deadline::after(timeout),
        &Events::none(),
        &WalkMetrics::default(),
    )
    .await
}

fn walk_request(graph: &str, options: &[(&str, f64)]) -> WalkRequest {
    walk_request_of(builtin(graph), options)
}

fn walk_request_of(graph: Arc<Graph>, options: &[(&str, f64)]) -> WalkRequest {
    let mut values = Options::defaults(graph.options());
    for (name, value) in options {
        values = values.with(&graph, name, *value);
    }
    WalkRequest {
        graph,
        is_own_graph: false,
        options: values,
        question: Question::new(v1::Question {
            question: QUESTION.to_owned(),
            collection: "islands".to_owned(),
            ..v1::Question::default()
        }),
        budget: super::Budget::default(),
        caller: emend_chassis::Identity::default(),
        record: None,
        content: false,
    }
}

/// The nodes visited, in order.
fn path(result: &WalkResult) -> Vec<&str> {
    result.steps.iter().map(|step| step.node.as_str()).collect()
}

fn status(result: &WalkResult) -> WalkStatus {
    result.status()
}

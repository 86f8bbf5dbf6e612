//! Turns a question from the wire into a [`WalkRequest`]. All invalid fields are reported together
//! (R15, R17).

use std::sync::Arc;

use emend_chassis::{InvalidRequest, Violations, status};
use emend_proto::v1;
use tonic::Status;

use crate::{
    catalog::Catalog,
    graph::{Graph, InvalidGraph},
    validate::{self, refused},
    walk::{Question, WalkRequest},
};

/// Validates a question and resolves its graph, options and budget.
///
/// # Errors
/// INVALID_ARGUMENT with every bad field, NOT_FOUND for an unknown graph.
pub(crate) async fn walk_request(
    catalog: &Catalog,
    default_graph: &str,
    question: Option<v1::Question>,
) -> Result<WalkRequest, Status> {
    let mut question = question.ok_or_else(|| InvalidRequest::field("question", "is missing; set it"))?;
    let mut violations = Violations::new();
    validate::question(&question, &mut violations);
    let budget = validate::budget(question.budget.as_ref(), &mut violations);
    let yaml = std::mem::take(&mut question.graph_yaml);
    let graph = if yaml.is_empty() {
        named(catalog, default_graph, &question.graph, &mut violations)?
    } else {
        own(yaml, &question.graph, &mut violations).await?
    };
    let Some(graph) = graph else {
        return Err(refused(violations));
    };
    let Some(options) = validate::options(&graph, "question.options", &question.options, &mut violations) else {
        return Err(refused(violations));
    };
    if let Some(problem) = graph.budget_problem(&options) {
        violations.push("question.options", problem);
    }
    violations.finish()?;
    Ok(WalkRequest {
        graph,
        options,
        question: Question::new(question),
        budget,
    })
}

/// Looks up a graph of the service. An unknown name is NOT_FOUND if it is the only problem;
/// otherwise it becomes a violation, and the result is `None`.
fn named(
    catalog: &Catalog,
    default_graph: &str,
    name: &str,
    violations: &mut Violations,
) -> Result<Option<Arc<Graph>>, Status> {
    let name = if name.is_empty() { default_graph } else { name };
    match catalog.get(name) {
        Ok(graph) => Ok(Some(Arc::clone(graph))),
        Err(unknown) if violations.is_empty() => Err(status(&unknown)),
        Err(unknown) => {
            violations.push("question.graph", unknown.to_string());
            Ok(None)
        }
    }
}

/// Parses a graph that comes with the question. Returns `None` and adds a violation if it is
/// invalid.
async fn own(yaml: String, name: &str, violations: &mut Violations) -> Result<Option<Arc<Graph>>, Status> {
    violations.require(name.is_empty(), "question.graph", || {
        format!("must be empty when `graph_yaml` is set, is `{name}`")
    });
    if !validate::graph_yaml("question.graph_yaml", &yaml, violations) {
        return Ok(None);
    }
    match parsed(yaml).await? {
        Ok(graph) => Ok(Some(Arc::new(graph))),
        Err(invalid) => {
            violations.push("question.graph_yaml", invalid.to_string());
            Ok(None)
        }
    }
}

/// Parses and checks a graph on the blocking thread pool: exploring a large graph takes a while.
///
/// The outer error is INTERNAL, for a panic; the inner one says what is wrong with the graph.
pub(crate) async fn parsed(yaml: String) -> Result<Result<Graph, InvalidGraph>, Status> {
    tokio::task::spawn_blocking(move || Graph::parse("graph.yaml", &yaml))
        .await
        .map_err(|_| Status::internal("checking the graph failed inside; the log has the cause"))
}

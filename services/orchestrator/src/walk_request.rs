//! Turns a question from the wire into a [`WalkRequest`]. All invalid fields are reported together
//! (R15, R17).

use std::sync::Arc;

use emend_chassis::{Identity, InvalidRequest, Violations, status};
use emend_core::{Reason, Scope, cut};
use emend_proto::v1;
use tonic::Status;

use crate::{
    catalog::Catalog,
    checks::GraphChecks,
    graph::Graph,
    validate::{self, refused},
    walk::{Question, WalkRequest},
};

/// Most bytes of what an error says about a graph that comes with a question; ValidateGraph says all of it. A message has
/// room for twice as many, since a third of them are marks that take three bytes on the wire.
const MAX_GRAPH_ERROR_BYTES: usize = 512;

/// The graphs of a service, and how those that come with a question are checked.
pub(crate) struct Graphs<'a> {
    pub(crate) catalog: &'a Catalog,
    /// Walked for a question that names none.
    pub(crate) default: &'a str,
    pub(crate) checks: &'a GraphChecks,
}

/// Validates a question and resolves its graph, options and budget, within the scope of its caller.
///
/// # Errors
/// INVALID_ARGUMENT with the bad fields, NOT_FOUND for an unknown graph, and as
/// [`CheckError`](crate::error::CheckError) says where a graph has to be checked.
pub(crate) async fn walk_request(
    graphs: Graphs<'_>,
    scope: &Scope,
    question: Option<v1::Question>,
) -> Result<WalkRequest, Status> {
    let mut question = question.ok_or_else(|| InvalidRequest::field("question", "is missing; set it"))?;
    let mut violations = Violations::new();
    validate::question(&question, &mut violations);
    let budget = validate::budget(question.budget.as_ref(), &mut violations);
    let record = question.record.then(|| question.clone());
    let yaml = std::mem::take(&mut question.graph_yaml);
    let is_own_graph = !yaml.is_empty();
    let graph = if yaml.is_empty() {
        named(&graphs, &question.graph, &mut violations)?
    } else {
        own(yaml, &question.graph, graphs.checks, scope, &mut violations).await?
    };
    let Some(graph) = graph else {
        return Err(refused(violations));
    };
    let overrides = &question.options;
    let Some(options) = validate::options(&graph, "question.options", overrides, &mut violations) else {
        return Err(refused(violations));
    };
    // With its defaults a graph is within its budget, or it would not have been loaded.
    if !overrides.is_empty() && graph.limits().model_calls.is_some() {
        let (asked, with) = (Arc::clone(&graph), options.clone());
        let problem = graphs
            .checks
            .run(scope, move |effort| asked.budget_problem(&with, effort))
            .await?;
        if let Some(problem) = problem {
            violations.push("question.options", problem);
        }
    }
    violations.finish()?;
    let record = record.map(|asked| v1::Question {
        graph: if is_own_graph {
            String::new()
        } else {
            graph.name().to_owned()
        },
        ..asked
    });
    Ok(WalkRequest {
        graph,
        is_own_graph,
        options,
        question: Question::new(question),
        budget,
        caller: Identity::default(),
        record,
        content: false,
    })
}

/// Looks up a graph of the service. An unknown name is NOT_FOUND if it is the only problem;
/// otherwise it becomes a violation, and the result is `None`.
fn named(graphs: &Graphs<'_>, name: &str, violations: &mut Violations) -> Result<Option<Arc<Graph>>, Status> {
    let name = if name.is_empty() { graphs.default } else { name };
    match graphs.catalog.get(name) {
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
async fn own(
    yaml: String,
    name: &str,
    checks: &GraphChecks,
    scope: &Scope,
    violations: &mut Violations,
) -> Result<Option<Arc<Graph>>, Status> {
    violations.require(name.is_empty(), "question.graph", || {
        format!("must be empty when `graph_yaml` is set, is `{}`", cut(name))
    });
    if !validate::graph_yaml("question.graph_yaml", &yaml, violations) {
        return Ok(None);
    }
    let parsed = checks
        .run(scope, move |effort| Graph::parse_within("graph.yaml", &yaml, effort))
        .await?;
    match parsed {
        Ok(graph) => Ok(Some(Arc::new(graph))),
        Err(invalid) => {
            violations.push_as(
                Reason::GraphInvalid,
                "question.graph_yaml",
                invalid.brief(MAX_GRAPH_ERROR_BYTES),
            );
            Ok(None)
        }
    }
}

//! From a question on the wire to what is walked: everything that is wrong with it is found at once (R15, R17).

use emend_core::limits::{MAX_FILTERS, MAX_GRAPH_BYTES, MAX_HISTORY, MAX_QUESTION_BYTES};
use std::{sync::Arc, time::Duration};

use emend_chassis::{InvalidRequest, Violations, status};
use emend_proto::v1::{self, chat_message};
use tonic::Status;

use crate::{
    catalog::Catalog,
    graph::{Graph, InvalidGraph, Options},
    walk::{Budget, Question, WalkRequest},
};

/// What a question asks to walk.
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
    check(&question, &mut violations);
    let budget = budget(question.budget.as_ref(), &mut violations);
    let yaml = std::mem::take(&mut question.graph_yaml);
    let graph = if yaml.is_empty() {
        named(catalog, default_graph, &question.graph, &mut violations)?
    } else {
        own(yaml, &question.graph, &mut violations).await?
    };
    let Some(graph) = graph else {
        return Err(refused(violations));
    };
    let options = match Options::resolve(graph.options(), &question.options) {
        Ok(options) => options,
        Err(invalid) => {
            for option in invalid {
                violations.push(format!("question.options[{}]", option.name), option.problem);
            }
            return Err(refused(violations));
        }
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

fn check(question: &v1::Question, violations: &mut Violations) {
    let text = &question.question;
    violations.require(!text.trim().is_empty(), "question.question", || {
        format!(
            "must be 1 to {MAX_QUESTION_BYTES} bytes and not blank, is {} bytes",
            text.len()
        )
    });
    violations.require(text.len() <= MAX_QUESTION_BYTES, "question.question", || {
        format!("must be 1 to {MAX_QUESTION_BYTES} bytes, is {}", text.len())
    });
    violations.require(question.filter.len() <= MAX_FILTERS, "question.filter", || {
        format!(
            "must name at most {MAX_FILTERS} fields, names {}",
            question.filter.len()
        )
    });
    let messages = question.history.len();
    violations.require(messages <= MAX_HISTORY, "question.history", || {
        format!("must have at most {MAX_HISTORY} messages, has {messages}; leave the oldest out")
    });
    for (place, message) in question.history.iter().enumerate().take(MAX_HISTORY) {
        let field = |name: &str| format!("question.history[{place}].{name}");
        let length = message.content.len();
        violations.require(
            length <= MAX_QUESTION_BYTES && !message.content.trim().is_empty(),
            &field("content"),
            || format!("must be 1 to {MAX_QUESTION_BYTES} bytes and not blank, is {length} bytes"),
        );
        let known =
            chat_message::Role::try_from(message.role).is_ok_and(|role| role != chat_message::Role::Unspecified);
        violations.require(known, &field("role"), || {
            format!("must be ROLE_USER (1) or ROLE_ASSISTANT (2), is {}", message.role)
        });
    }
}

fn budget(budget: Option<&v1::Budget>, violations: &mut Violations) -> Budget {
    let Some(budget) = budget else {
        return Budget::default();
    };
    violations.require(budget.steps != Some(0), "question.budget.steps", || {
        "must be at least 1, is 0; a walk needs a step".to_owned()
    });
    let time = budget.time.map(Duration::try_from);
    let fits = time
        .as_ref()
        .is_none_or(|time| time.as_ref().is_ok_and(|time| !time.is_zero()));
    violations.require(fits, "question.budget.time", || "must be above 0".to_owned());
    Budget {
        steps: budget.steps,
        model_calls: budget.model_calls,
        tokens: budget.tokens,
        web_searches: budget.web_searches,
        time: time.and_then(Result::ok),
    }
}

/// A graph of the service; `None` where it is a violation among others.
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

/// A graph that comes with the question; `None` where it is wrong.
async fn own(yaml: String, name: &str, violations: &mut Violations) -> Result<Option<Arc<Graph>>, Status> {
    violations.require(name.is_empty(), "question.graph", || {
        format!("must be empty when `graph_yaml` is set, is `{name}`")
    });
    if yaml.len() > MAX_GRAPH_BYTES {
        violations.push(
            "question.graph_yaml",
            format!("must be at most {MAX_GRAPH_BYTES} bytes, is {}", yaml.len()),
        );
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

/// Reads a graph away from the tasks that answer: exploring a large one takes a while.
pub(crate) async fn parsed(yaml: String) -> Result<Result<Graph, InvalidGraph>, Status> {
    tokio::task::spawn_blocking(move || Graph::parse("graph.yaml", &yaml))
        .await
        .map_err(|_| Status::internal("checking the graph failed inside; the log has the cause"))
}

/// The status of a request that is known to be wrong.
pub(crate) fn refused(violations: Violations) -> Status {
    match violations.finish() {
        Err(invalid) => invalid.into(),
        Ok(()) => Status::internal("a request was refused without a reason"),
    }
}

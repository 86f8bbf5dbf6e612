//! `OrchestratorService`: validates, hands to an actor, maps the error.

use std::{collections::HashMap, pin::Pin, sync::Arc};

use emend_chassis::{ActorHandle, Caller, Identity, InvalidRequest, Permission, Violations, refusal, status};
use emend_core::Reason;
use emend_proto::v1::{
    self, AskRequest, AskResponse, AskStreamRequest, AskStreamResponse, GetGraphRequest, GetGraphResponse, GraphEdge,
    GraphNode, GraphOption, GraphSummary, ListGraphsRequest, ListGraphsResponse, RecordFeedbackRequest,
    RecordFeedbackResponse, ReplayWalkRequest, ReplayWalkResponse, ValidateGraphRequest, ValidateGraphResponse,
    WalkStatus, orchestrator_service_server::OrchestratorService,
};
use futures::{Stream, TryStreamExt as _};
use tonic::{Request, Response, Status};

use crate::{
    catalog::{Catalog, LiveCatalog},
    checks::GraphChecks,
    feedback::{FeedbackError, FeedbackFolder},
    graph::{BoundError, Effort, Finding, FinishStatus, Graph, Node, Options, Target, WorstCase},
    mermaid, replay, validate,
    walk::WalkRequest,
    walk_request::{Graphs, walk_request},
    work::{Ask, AskStream, ReplayWalk, WalkRunner},
};

/// Events buffered for a slow reader. When the buffer is full, the walk waits.
const EVENTS: usize = 64;
/// The collection of a question that names none, as the retriever has it.
const DEFAULT_COLLECTION: &str = "default";

/// The service; cheap to clone.
#[derive(Clone, Debug)]
pub struct Orchestrator {
    catalog: LiveCatalog,
    default_graph: Arc<str>,
    checks: GraphChecks,
    /// `None` where no feedback is kept.
    feedback: Option<FeedbackFolder>,
    walks: ActorHandle<WalkRunner>,
    /// Whether callers may bring graphs of their own.
    graph_yaml: bool,
    /// Whether questions, passages and answers stand in spans.
    content: bool,
}

impl Orchestrator {
    /// A service that walks these graphs.
    pub fn new(catalog: LiveCatalog, default_graph: &str, walks: ActorHandle<WalkRunner>) -> Self {
        Orchestrator {
            catalog,
            default_graph: Arc::from(default_graph),
            checks: GraphChecks::default(),
            feedback: None,
            walks,
            graph_yaml: true,
            content: false,
        }
    }

    /// The same, keeping feedback in a folder, if there is one.
    #[must_use]
    pub fn with_feedback(mut self, feedback: Option<FeedbackFolder>) -> Self {
        self.feedback = feedback;
        self
    }

    /// Whether callers may bring graphs of their own, with a question or to be checked; they may unless told otherwise.
    #[must_use]
    pub fn graph_yaml(mut self, allowed: bool) -> Self {
        self.graph_yaml = allowed;
        self
    }

    /// Whether questions, passages and answers stand in the spans of walks; they do not unless told otherwise.
    #[must_use]
    pub fn record_content(mut self, recorded: bool) -> Self {
        self.content = recorded;
        self
    }

    /// Refuses a graph of the caller's own where there are none, or where its key does not allow it.
    fn own_graph(&self, identity: &Identity) -> Result<(), Status> {
        if !self.graph_yaml {
            return Err(refusal(
                Reason::GraphYamlDisabled,
                "this service takes no graphs of its callers: name one of its own, or start it with --graph-yaml true",
            ));
        }
        Ok(identity.may(Permission::GraphYaml)?)
    }

    /// Refuses a question whose collection or graph the caller's key does not allow, or whose budget is spent. Nothing is
    /// looked up for that: what does not exist is refused in the same words.
    fn may_ask(&self, question: &v1::Question, identity: &Identity) -> Result<(), Status> {
        let or = |name: &str, default: &str| {
            if name.is_empty() {
                default.to_owned()
            } else {
                name.to_owned()
            }
        };
        identity.collection(&or(&question.collection, DEFAULT_COLLECTION))?;
        if question.graph_yaml.is_empty() {
            identity.graph(&or(&question.graph, &self.default_graph))?;
        } else {
            self.own_graph(identity)?;
        }
        identity.left().map_err(|over| status(&over))?;
        Ok(())
    }

    fn graphs<'a>(&'a self, catalog: &'a Catalog) -> Graphs<'a> {
        Graphs {
            catalog,
            default: &self.default_graph,
            checks: &self.checks,
        }
    }

    /// Validates a question and resolves its graph, options and budget.
    async fn walk_request(
        &self,
        question: Option<v1::Question>,
        caller: &Caller,
        identity: Identity,
    ) -> Result<WalkRequest, Status> {
        if let Some(question) = &question {
            self.may_ask(question, &identity)?;
        }
        let catalog = self.catalog.current();
        match walk_request(self.graphs(&catalog), &caller.scope(), question).await {
            Ok(walk_request) => Ok(WalkRequest {
                caller: identity,
                content: self.content,
                ..walk_request
            }),
            Err(status) => Err(identity.conceal(status)),
        }
    }
}

#[tonic::async_trait]
impl OrchestratorService for Orchestrator {
    type AskStreamStream = Pin<Box<dyn Stream<Item = Result<AskStreamResponse, Status>> + Send>>;

    async fn ask(&self, request: Request<AskRequest>) -> Result<Response<AskResponse>, Status> {
        let (caller, identity) = (self.walks.caller(&request), Identity::of(&request));
        let walk_request = self
            .walk_request(request.into_inner().question, &caller, identity.clone())
            .await?;
        let result = self.walks.call(Ask(walk_request), caller).await;
        let result = result.map_err(|error| identity.conceal(error.into()))?;
        Ok(Response::new(AskResponse { result: Some(result) }))
    }

    async fn ask_stream(&self, request: Request<AskStreamRequest>) -> Result<Response<Self::AskStreamStream>, Status> {
        let (caller, identity) = (self.walks.caller(&request), Identity::of(&request));
        let walk_request = self
            .walk_request(request.into_inner().question, &caller, identity.clone())
            .await?;
        let events = self
            .walks
            .stream(caller, EVENTS, |events| AskStream { walk_request, events })
            .map_err(move |status| identity.conceal(status));
        Ok(Response::new(Box::pin(events)))
    }

    async fn list_graphs(&self, request: Request<ListGraphsRequest>) -> Result<Response<ListGraphsResponse>, Status> {
        let (caller, identity) = (self.walks.caller(&request), Identity::of(&request));
        let catalog = self.catalog.current();
        let summaries = move |_: &mut Effort| {
            let allowed = catalog.iter().filter(|graph| identity.graph(graph.name()).is_ok());
            allowed.map(|graph| summary(graph)).collect()
        };
        let graphs = self.checks.run(&caller.scope(), summaries).await?;
        Ok(Response::new(ListGraphsResponse { graphs }))
    }

    async fn get_graph(&self, request: Request<GetGraphRequest>) -> Result<Response<GetGraphResponse>, Status> {
        let (caller, identity) = (self.walks.caller(&request), Identity::of(&request));
        let name = request.into_inner().name;
        identity.graph(&name)?;
        let catalog = self.catalog.current();
        let graph = catalog
            .get(&name)
            .map_err(|unknown| identity.conceal(status(&unknown)))?;
        let graph = Arc::clone(graph);
        let described = self.checks.run(&caller.scope(), move |_| describe(&graph)).await?;
        Ok(Response::new(described))
    }

    async fn record_feedback(
        &self,
        request: Request<RecordFeedbackRequest>,
    ) -> Result<Response<RecordFeedbackResponse>, Status> {
        let caller = self.walks.caller(&request);
        let feedback = validate::feedback(request.into_inner().feedback)?;
        let folder = self.feedback.as_ref().ok_or(FeedbackError::Off)?;
        let id = folder.record(feedback, &caller.scope()).await?;
        Ok(Response::new(RecordFeedbackResponse { id }))
    }

    async fn replay_walk(&self, request: Request<ReplayWalkRequest>) -> Result<Response<ReplayWalkResponse>, Status> {
        let (caller, identity) = (self.walks.caller(&request), Identity::of(&request));
        let asked = replay::check(request.into_inner())?;
        self.may_ask(asked.question(), &identity)?;
        let catalog = self.catalog.current();
        let replay = asked.resolve(self.graphs(&catalog), &caller.scope()).await;
        let replay = replay.map_err(|status| identity.conceal(status))?;
        Ok(Response::new(self.walks.call(ReplayWalk(replay), caller).await?))
    }

    async fn validate_graph(
        &self,
        request: Request<ValidateGraphRequest>,
    ) -> Result<Response<ValidateGraphResponse>, Status> {
        self.own_graph(&Identity::of(&request))?;
        let caller = self.walks.caller(&request);
        let ValidateGraphRequest { yaml, options } = request.into_inner();
        let mut violations = Violations::new();
        validate::graph_yaml("yaml", &yaml, &mut violations);
        violations.finish()?;
        let validated = self
            .checks
            .run(&caller.scope(), move |effort| validated(&yaml, &options, effort))
            .await?;
        Ok(Response::new(validated?))
    }
}

/// What is wrong with a graph file, or its worst case with these options.
fn validated(
    yaml: &str,
    options: &HashMap<String, f64>,
    effort: &mut Effort,
) -> Result<ValidateGraphResponse, InvalidRequest> {
    let graph = match Graph::parse_within("graph.yaml", yaml, effort) {
        Ok(graph) => graph,
        Err(invalid) => {
            return Ok(ValidateGraphResponse {
                findings: invalid.findings.into_iter().map(finding).collect(),
                worst_case: None,
            });
        }
    };
    let mut violations = Violations::new();
    let resolved = validate::options(&graph, "options", options, &mut violations);
    violations.finish()?;
    let options = resolved.unwrap_or_else(|| Options::defaults(graph.options()));
    Ok(match worst_case(&graph, &options, effort) {
        Ok(worst_case) => ValidateGraphResponse {
            findings: Vec::new(),
            worst_case: Some(worst_case),
        },
        Err(error) => ValidateGraphResponse {
            findings: vec![v1::Finding {
                message: error.to_string(),
                ..v1::Finding::default()
            }],
            worst_case: None,
        },
    })
}

fn finding(finding: Finding) -> v1::Finding {
    v1::Finding {
        message: finding.message,
        node: finding.node.unwrap_or_default(),
        line: finding.line,
    }
}

fn describe(graph: &Graph) -> GetGraphResponse {
    let options = graph.options().iter().map(|option| GraphOption {
        name: option.name.clone(),
        description: option.description.clone(),
        default_value: option.default,
        minimum: option.minimum,
        maximum: option.maximum,
    });
    GetGraphResponse {
        graph: Some(summary(graph)),
        yaml: graph.source().to_owned(),
        mermaid: mermaid::flowchart(graph),
        options: options.collect(),
        nodes: graph.nodes().map(|(_, node)| describe_node(graph, node)).collect(),
        start: graph.node(graph.start()).name().to_owned(),
    }
}

fn describe_node(graph: &Graph, node: &Node) -> GraphNode {
    let edges = node.routes().flat_map(|(outcome, route)| {
        route.edges().map(move |(condition, to)| GraphEdge {
            outcome: outcome.name().to_owned(),
            condition: condition.map(ToString::to_string).unwrap_or_default(),
            to: graph.target_name(to).to_owned(),
            finish: match to {
                Target::Node(_) => WalkStatus::Unspecified,
                Target::Finish(status) => walk_status(status),
            }
            .into(),
        })
    });
    GraphNode {
        name: node.name().to_owned(),
        action: node.action().name().to_owned(),
        edges: edges.collect(),
    }
}

fn walk_status(status: FinishStatus) -> WalkStatus {
    match status {
        FinishStatus::Answered => WalkStatus::Answered,
        FinishStatus::Unverified => WalkStatus::Unverified,
        FinishStatus::Ungrounded => WalkStatus::Ungrounded,
        FinishStatus::Abstained => WalkStatus::Abstained,
    }
}

/// A graph of the service. Its formulas are computed once, for all callers, and so whatever becomes of this one.
fn summary(graph: &Graph) -> GraphSummary {
    let defaults = Options::defaults(graph.options());
    GraphSummary {
        name: graph.name().to_owned(),
        description: graph.description().to_owned(),
        worst_case: worst_case(graph, &defaults, &mut Effort::default()).ok(),
    }
}

fn worst_case(graph: &Graph, options: &Options, effort: &mut Effort) -> Result<v1::WorstCase, BoundError> {
    let WorstCase {
        steps,
        model_calls,
        web_searches,
    } = graph.worst_case_within(options, effort)?;
    let formulas = graph.formulas_within(effort).clone();
    Ok(v1::WorstCase {
        steps,
        model_calls,
        web_searches,
        steps_formula: formulas.steps,
        model_calls_formula: formulas.model_calls,
        web_searches_formula: formulas.web_searches,
    })
}

#[cfg(test)]
mod tests;

//! `OrchestratorService`: validates, hands to an actor, maps the error.

use std::{pin::Pin, sync::Arc};

use emend_chassis::{ActorHandle, Violations, status};
use emend_proto::v1::{
    self, AskRequest, AskResponse, AskStreamRequest, AskStreamResponse, GetGraphRequest, GetGraphResponse, GraphOption,
    GraphSummary, ListGraphsRequest, ListGraphsResponse, ValidateGraphRequest, ValidateGraphResponse,
    orchestrator_service_server::OrchestratorService,
};
use futures::Stream;
use tonic::{Request, Response, Status};

use crate::{
    catalog::LiveCatalog,
    graph::{Finding, Graph, Options, WorstCase},
    mermaid, validate,
    walk::WalkRequest,
    walk_request,
    work::{Ask, AskStream, WalkRunner},
};

/// Events buffered for a slow reader. When the buffer is full, the walk waits.
const EVENTS: usize = 64;

/// The service; cheap to clone.
#[derive(Clone, Debug)]
pub struct Orchestrator {
    catalog: LiveCatalog,
    default_graph: Arc<str>,
    walks: ActorHandle<WalkRunner>,
}

impl Orchestrator {
    /// A service that walks these graphs.
    pub fn new(catalog: LiveCatalog, default_graph: &str, walks: ActorHandle<WalkRunner>) -> Self {
        Orchestrator {
            catalog,
            default_graph: Arc::from(default_graph),
            walks,
        }
    }

    /// Validates a question and resolves its graph, options and budget.
    async fn walk_request(&self, question: Option<v1::Question>) -> Result<WalkRequest, Status> {
        walk_request::walk_request(&self.catalog.current(), &self.default_graph, question).await
    }
}

#[tonic::async_trait]
impl OrchestratorService for Orchestrator {
    type AskStreamStream = Pin<Box<dyn Stream<Item = Result<AskStreamResponse, Status>> + Send>>;

    async fn ask(&self, request: Request<AskRequest>) -> Result<Response<AskResponse>, Status> {
        let caller = self.walks.caller(&request);
        let walk_request = self.walk_request(request.into_inner().question).await?;
        let result = self.walks.call(Ask(walk_request), caller).await?;
        Ok(Response::new(AskResponse { result: Some(result) }))
    }

    async fn ask_stream(&self, request: Request<AskStreamRequest>) -> Result<Response<Self::AskStreamStream>, Status> {
        let caller = self.walks.caller(&request);
        let walk_request = self.walk_request(request.into_inner().question).await?;
        let events = self
            .walks
            .stream(caller, EVENTS, |events| AskStream { walk_request, events });
        Ok(Response::new(Box::pin(events)))
    }

    async fn list_graphs(&self, _: Request<ListGraphsRequest>) -> Result<Response<ListGraphsResponse>, Status> {
        let catalog = self.catalog.current();
        // The first call computes the formulas of each graph from a few dozen worst cases, which
        // would block the runtime.
        let graphs = tokio::task::spawn_blocking(move || catalog.iter().map(|graph| summary(graph)).collect())
            .await
            .map_err(|_| Status::internal("describing the graphs failed inside; the log has the cause"))?;
        Ok(Response::new(ListGraphsResponse { graphs }))
    }

    async fn get_graph(&self, request: Request<GetGraphRequest>) -> Result<Response<GetGraphResponse>, Status> {
        let name = request.into_inner().name;
        let catalog = self.catalog.current();
        let graph = catalog.get(&name).map_err(|unknown| status(&unknown))?;
        let options = graph.options().iter().map(|option| GraphOption {
            name: option.name.clone(),
            description: option.description.clone(),
            default_value: option.default,
            minimum: option.minimum,
            maximum: option.maximum,
        });
        Ok(Response::new(GetGraphResponse {
            graph: Some(summary(graph)),
            yaml: graph.source().to_owned(),
            mermaid: mermaid::flowchart(graph),
            options: options.collect(),
        }))
    }

    async fn validate_graph(
        &self,
        request: Request<ValidateGraphRequest>,
    ) -> Result<Response<ValidateGraphResponse>, Status> {
        let ValidateGraphRequest { yaml, options } = request.into_inner();
        let mut violations = Violations::new();
        validate::graph_yaml("yaml", &yaml, &mut violations);
        violations.finish()?;
        let graph = match walk_request::parsed(yaml).await? {
            Ok(graph) => graph,
            Err(invalid) => {
                return Ok(Response::new(ValidateGraphResponse {
                    findings: invalid.findings.into_iter().map(finding).collect(),
                    worst_case: None,
                }));
            }
        };
        let mut violations = Violations::new();
        let Some(options) = validate::options(&graph, "options", &options, &mut violations) else {
            return Err(validate::refused(violations));
        };
        let worst_case = tokio::task::spawn_blocking(move || worst_case(&graph, &options))
            .await
            .map_err(|_| Status::internal("checking the graph failed inside; the log has the cause"))?;
        Ok(Response::new(ValidateGraphResponse {
            findings: Vec::new(),
            worst_case,
        }))
    }
}

fn finding(finding: Finding) -> v1::Finding {
    v1::Finding {
        message: finding.message,
        node: finding.node.unwrap_or_default(),
        line: finding.line,
    }
}

fn summary(graph: &Graph) -> GraphSummary {
    GraphSummary {
        name: graph.name().to_owned(),
        description: graph.description().to_owned(),
        worst_case: worst_case(graph, &Options::defaults(graph.options())),
    }
}

fn worst_case(graph: &Graph, options: &Options) -> Option<v1::WorstCase> {
    let WorstCase {
        steps,
        model_calls,
        web_searches,
    } = graph.worst_case(options).ok()?;
    let formulas = graph.formulas().clone();
    Some(v1::WorstCase {
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

//! `OrchestratorService`: validates, hands to the actor, maps the error.

use std::{pin::Pin, sync::Arc, time::Duration};

use emend_chassis::{Caller, Front, InvalidRequest, Violations, status};
use emend_proto::v1::{
    self, AskRequest, AskResponse, AskStreamRequest, AskStreamResponse, GetGraphRequest, GetGraphResponse, GraphOption,
    GraphSummary, ListGraphsRequest, ListGraphsResponse, ValidateGraphRequest, ValidateGraphResponse,
    orchestrator_service_server::OrchestratorService,
};
use futures::Stream;
use tonic::{Request, Response, Status};

use crate::{
    actor::WalksActor,
    catalog::Catalog,
    graph::{Graph, Options, WorstCase},
    mermaid,
    messages::{Ask, AskStream},
    walk::{Course, Question},
};

/// Longest question in bytes (R15).
const LONGEST_QUESTION: usize = 8 * 1024;
/// Longest graph file in bytes.
const LONGEST_GRAPH: usize = 256 * 1024;
/// Most fields a filter may name, as many as a document may have.
const MOST_FILTERS: usize = 64;
/// Events that wait for a slow reader before the walk does.
const EVENTS: usize = 64;

/// The service; cheap to clone.
#[derive(Clone, Debug)]
pub struct Orchestrator {
    catalog: Arc<Catalog>,
    default_graph: Arc<str>,
    default_timeout: Duration,
    walks: Front<WalksActor>,
}

impl Orchestrator {
    /// A service that walks these graphs.
    pub fn new(catalog: Catalog, default_graph: &str, default_timeout: Duration, walks: Front<WalksActor>) -> Self {
        Orchestrator {
            catalog: Arc::new(catalog),
            default_graph: Arc::from(default_graph),
            default_timeout,
            walks,
        }
    }

    /// What a question asks to walk, or everything that is wrong with it at once (R15, R17).
    fn course(&self, question: Option<v1::Question>) -> Result<Course, Status> {
        let question = question.ok_or_else(|| InvalidRequest::field("question", "is missing; set it"))?;
        let mut violations = Violations::new();
        let text = &question.question;
        violations.require(!text.trim().is_empty(), "question.question", || {
            format!(
                "must be 1 to {LONGEST_QUESTION} bytes and not blank, is {} bytes",
                text.len()
            )
        });
        violations.require(text.len() <= LONGEST_QUESTION, "question.question", || {
            format!("must be 1 to {LONGEST_QUESTION} bytes, is {}", text.len())
        });
        violations.require(question.filter.len() <= MOST_FILTERS, "question.filter", || {
            format!(
                "must name at most {MOST_FILTERS} fields, names {}",
                question.filter.len()
            )
        });
        let name = match question.graph.as_str() {
            "" => &self.default_graph,
            name => name,
        };
        let graph = match self.catalog.get(name) {
            Ok(graph) => Arc::clone(graph),
            Err(unknown) if violations.is_empty() => return Err(status(&unknown)),
            Err(unknown) => {
                violations.push("question.graph", unknown.to_string());
                return Err(finish(violations));
            }
        };
        let options = match Options::resolve(graph.options(), &question.options) {
            Ok(options) => options,
            Err(invalid) => {
                for option in invalid {
                    violations.push(format!("question.options[{}]", option.name), option.problem);
                }
                return Err(finish(violations));
            }
        };
        if let Some(problem) = graph.budget_problem(&options) {
            violations.push("question.options", problem);
        }
        violations.finish()?;
        Ok(Course {
            graph,
            options,
            question: Question::new(question),
        })
    }
}

/// The status of a request that is known to be wrong.
fn finish(violations: Violations) -> Status {
    match violations.finish() {
        Err(invalid) => invalid.into(),
        Ok(()) => Status::internal("a request was refused without a reason"),
    }
}

#[tonic::async_trait]
impl OrchestratorService for Orchestrator {
    type AskStreamStream = Pin<Box<dyn Stream<Item = Result<AskStreamResponse, Status>> + Send>>;

    async fn ask(&self, request: Request<AskRequest>) -> Result<Response<AskResponse>, Status> {
        let caller = Caller::of(&request, self.default_timeout);
        let course = self.course(request.into_inner().question)?;
        let result = self.walks.call(Ask(course), caller).await?;
        Ok(Response::new(AskResponse { result: Some(result) }))
    }

    async fn ask_stream(&self, request: Request<AskStreamRequest>) -> Result<Response<Self::AskStreamStream>, Status> {
        let caller = Caller::of(&request, self.default_timeout);
        let course = self.course(request.into_inner().question)?;
        let events = self.walks.stream(caller, EVENTS, |events| AskStream { course, events });
        Ok(Response::new(Box::pin(events)))
    }

    async fn list_graphs(&self, _: Request<ListGraphsRequest>) -> Result<Response<ListGraphsResponse>, Status> {
        let graphs = self.catalog.iter().map(|graph| summary(graph)).collect();
        Ok(Response::new(ListGraphsResponse { graphs }))
    }

    async fn get_graph(&self, request: Request<GetGraphRequest>) -> Result<Response<GetGraphResponse>, Status> {
        let name = request.into_inner().name;
        let graph = self.catalog.get(&name).map_err(|unknown| status(&unknown))?;
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
        let yaml = request.into_inner().yaml;
        let mut violations = Violations::new();
        violations.require(yaml.len() <= LONGEST_GRAPH, "yaml", || {
            format!("must be at most {LONGEST_GRAPH} bytes, is {}", yaml.len())
        });
        violations.finish()?;
        // Exploring a large graph takes a while.
        let checked =
            tokio::task::spawn_blocking(move || Graph::parse("graph.yaml", &yaml).map(|graph| summary(&graph)))
                .await
                .map_err(|_| Status::internal("checking the graph failed inside; the log has the cause"))?;
        Ok(Response::new(match checked {
            Ok(summary) => ValidateGraphResponse {
                findings: Vec::new(),
                worst_case: summary.worst_case,
            },
            Err(invalid) => ValidateGraphResponse {
                findings: invalid
                    .findings
                    .into_iter()
                    .map(|finding| v1::Finding {
                        message: finding.message,
                        node: finding.node.unwrap_or_default(),
                        line: finding.line,
                    })
                    .collect(),
                worst_case: None,
            },
        }))
    }
}

fn summary(graph: &Graph) -> GraphSummary {
    let worst = graph.worst_case(&Options::defaults(graph.options())).ok();
    GraphSummary {
        name: graph.name().to_owned(),
        description: graph.description().to_owned(),
        worst_case: worst.map(
            |WorstCase {
                 steps,
                 model_calls,
                 web_searches,
             }| v1::WorstCase {
                steps,
                model_calls,
                web_searches,
            },
        ),
    }
}

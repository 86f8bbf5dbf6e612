//! An orchestrator and a retriever that say what a test wants and keep what they were sent, with a gateway in front.

mod retriever;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use emend_chassis::Server;
use emend_gateway::{Options, serve};
use emend_proto::v1::{
    orchestrator_service_server::{OrchestratorService, OrchestratorServiceServer},
    walk_event::Event,
    *,
};
use emend_testkit::retriever::{Messages, Retriever};
use futures::StreamExt as _;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, Streaming};
use tonic_types::{ErrorDetails, StatusExt as _};

/// Nothing takes near as long; a hang fails a test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Default)]
pub(crate) struct Sent(Arc<Mutex<Vec<(String, String)>>>);

impl Sent {
    fn keep(&self, metadata: &MetadataMap) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for name in ["authorization", "grpc-timeout", "traceparent", "tracestate"] {
            if let Some(value) = metadata.get(name) {
                kept.push((name.to_owned(), value.to_str().unwrap().to_owned()));
            }
        }
    }

    /// The last value of a piece of metadata.
    pub(crate) fn last(&self, name: &str) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter()
            .rev()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.clone())
    }
}

#[derive(Clone)]
struct StandIn {
    sent: Sent,
    questions: Arc<Mutex<Vec<Question>>>,
    /// Told when a call that hangs begins, and when it is dropped.
    hanging: mpsc::UnboundedSender<&'static str>,
}

struct SaysWhenDropped(mpsc::UnboundedSender<&'static str>);

impl Drop for SaysWhenDropped {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

/// The result that is answered with: `ABSTAIN`, `FAIL` and the like in a question ask for another.
pub(crate) fn result(question: &Question) -> WalkResult {
    let text = question.question.as_str();
    let leave = "Everybody has 25 days.";
    let answer = format!("{leave} Managers approve it.");
    let sentence = |text: &str, start: u32, number: u32| Sentence {
        text: text.to_owned(),
        span: Some(Span {
            start,
            end: start + u32::try_from(text.chars().count()).unwrap(),
        }),
        citations: vec![Citation {
            number,
            passage_id: format!("p{number}"),
            ..Citation::default()
        }],
        support: Support::FullySupported.into(),
        ..Sentence::default()
    };
    let document = |id: &str, source: &str, title: &str, origin: Origin| GradedPassage {
        passage: Some(Passage {
            id: id.to_owned(),
            document_id: source.to_owned(),
            title: title.to_owned(),
            source: source.to_owned(),
            text: "text".to_owned(),
            origin: origin.into(),
            ..Passage::default()
        }),
        kept: true,
        ..GradedPassage::default()
    };
    let mut result = WalkResult {
        status: WalkStatus::Answered.into(),
        answer,
        sentences: vec![sentence(leave, 0, 1), sentence("Managers approve it.", 23, 2)],
        documents: vec![
            document("p1", "handbook/leave.md", "Leave", Origin::Local),
            document("p2", "https://example.com/who", "Who approves", Origin::Web),
        ],
        graph: question.graph.clone(),
        usage: Some(Usage {
            model_calls: 3,
            input_tokens: 120,
            output_tokens: 30,
        }),
        ..WalkResult::default()
    };
    if text.contains("ABSTAIN") {
        result.status = WalkStatus::Abstained.into();
        "The documents do not say.".clone_into(&mut result.answer);
        "the evidence does not answer the question".clone_into(&mut result.reason);
        result.sentences.clear();
    } else if text.contains("UNVERIFIED") {
        result.status = WalkStatus::Unverified.into();
        "the recursion limit was reached".clone_into(&mut result.reason);
    } else if text.contains("FAIL") {
        result.status = WalkStatus::Failed.into();
        result.answer.clear();
        result.sentences.clear();
        result.failure = Some(Failure {
            reason: "SERVICE_UNAVAILABLE".to_owned(),
            service: "generator".to_owned(),
            code: "UNAVAILABLE".to_owned(),
            cause: "connection refused".to_owned(),
            advice: "start it".to_owned(),
        });
    }
    result
}

impl StandIn {
    fn asked(&self, metadata: &MetadataMap, question: Option<Question>) -> Result<Question, Status> {
        self.sent.keep(metadata);
        let question = question.unwrap_or_default();
        let mut kept = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(question.clone());
        drop(kept);
        let mut details = ErrorDetails::new();
        if question.question.contains("REFUSE") {
            details.add_bad_request_violation("question.options[top_k]", "must be 1 to 100, is 0");
            return Err(Status::with_error_details(
                tonic::Code::InvalidArgument,
                "invalid request",
                details,
            ));
        }
        if question.question.contains("FULL") {
            details.set_retry_info(Some(Duration::from_millis(2500)));
            return Err(Status::with_error_details(
                tonic::Code::ResourceExhausted,
                "64 calls are in flight",
                details,
            ));
        }
        if question.question.contains("KEY") && metadata.get("authorization").is_none() {
            return Err(Status::unauthenticated(
                "no API key: send it as `authorization: Bearer KEY`",
            ));
        }
        if question.collection == "absent" {
            return Err(Status::not_found("unknown collection `absent`: known are handbook"));
        }
        if !question.graph.is_empty() && question.graph != "self-rag" {
            return Err(Status::not_found(format!("unknown graph `{}`", question.graph)));
        }
        Ok(question)
    }

    async fn hang(&self) {
        let _says = SaysWhenDropped(self.hanging.clone());
        let _ = self.hanging.send("began");
        std::future::pending::<()>().await;
    }
}

fn event(event: Event) -> Result<AskStreamResponse, Status> {
    Ok(AskStreamResponse {
        event: Some(WalkEvent {
            elapsed: None,
            event: Some(event),
        }),
    })
}

#[tonic::async_trait]
impl OrchestratorService for StandIn {
    type AskStreamStream = Messages<AskStreamResponse>;

    async fn ask(&self, request: Request<AskRequest>) -> Result<Response<AskResponse>, Status> {
        let (metadata, _, message) = request.into_parts();
        let question = self.asked(&metadata, message.question)?;
        if question.question.contains("HANG") {
            self.hang().await;
        }
        Ok(Response::new(AskResponse {
            result: Some(result(&question)),
        }))
    }

    async fn ask_stream(&self, request: Request<AskStreamRequest>) -> Result<Response<Self::AskStreamStream>, Status> {
        let (metadata, _, message) = request.into_parts();
        let question = self.asked(&metadata, message.question)?;
        let sentence = |text: &str| {
            Some(Sentence {
                text: text.to_owned(),
                ..Sentence::default()
            })
        };
        let mut events = vec![
            event(Event::StepStarted(StepStarted {
                step: 1,
                node: "generate".to_owned(),
                action: "generate".to_owned(),
            })),
            event(Event::TextDelta(TextDelta {
                text: "Everybody has 40 days.".to_owned(),
                attempt: 1,
            })),
            event(Event::SentenceCommitted(SentenceCommitted {
                sentence: sentence("Everybody has 40 days."),
                attempt: 1,
            })),
            event(Event::SentenceRetracted(SentenceRetracted {
                sentence: sentence("Everybody has 40 days."),
                attempt: 1,
            })),
        ];
        if question.question.contains("HANG") {
            let standin = self.clone();
            let first = futures::stream::iter(events);
            let rest = futures::stream::once(async move {
                standin.hang().await;
                Err(Status::internal("it hangs"))
            });
            return Ok(Response::new(first.chain(rest).boxed()));
        }
        if question.question.contains("BREAK") {
            events.push(Err(Status::unavailable("the orchestrator is shutting down")));
        } else {
            events.push(event(Event::Finished(result(&question))));
        }
        Ok(Response::new(futures::stream::iter(events).boxed()))
    }

    async fn list_graphs(&self, request: Request<ListGraphsRequest>) -> Result<Response<ListGraphsResponse>, Status> {
        self.sent.keep(request.metadata());
        let graphs = vec![GraphSummary {
            name: "self-rag".to_owned(),
            description: "grades what it retrieves and writes".to_owned(),
            ..GraphSummary::default()
        }];
        Ok(Response::new(ListGraphsResponse { graphs }))
    }

    async fn record_feedback(
        &self,
        request: Request<RecordFeedbackRequest>,
    ) -> Result<Response<RecordFeedbackResponse>, Status> {
        let feedback = request.into_inner().feedback.unwrap_or_default();
        if feedback.verdict() == FeedbackVerdict::Unspecified {
            let mut details = ErrorDetails::new();
            details.add_bad_request_violation("feedback.walk_id", "must be known");
            return Err(Status::with_error_details(
                tonic::Code::InvalidArgument,
                "invalid request",
                details,
            ));
        }
        Ok(Response::new(RecordFeedbackResponse { id: feedback.walk_id }))
    }

    async fn replay_walk(&self, request: Request<ReplayWalkRequest>) -> Result<Response<ReplayWalkResponse>, Status> {
        let end = RecordEnd {
            missing: request.into_inner().graph,
            ..RecordEnd::default()
        };
        Ok(Response::new(ReplayWalkResponse {
            end: Some(end),
            ..ReplayWalkResponse::default()
        }))
    }

    async fn get_graph(&self, request: Request<GetGraphRequest>) -> Result<Response<GetGraphResponse>, Status> {
        let name = request.into_inner().name;
        if name != "self-rag" {
            return Err(Status::not_found(format!("unknown graph `{name}`: known are self-rag")));
        }
        Ok(Response::new(GetGraphResponse {
            yaml: "name: self-rag".to_owned(),
            mermaid: "flowchart TD\n  retrieve --> generate".to_owned(),
            ..GetGraphResponse::default()
        }))
    }

    async fn validate_graph(
        &self,
        request: Request<ValidateGraphRequest>,
    ) -> Result<Response<ValidateGraphResponse>, Status> {
        Ok(Response::new(ValidateGraphResponse {
            findings: vec![Finding {
                message: format!("{} bytes", request.into_inner().yaml.len()),
                node: String::new(),
                line: 1,
            }],
            worst_case: None,
        }))
    }
}

fn collection() -> Collection {
    Collection {
        name: "handbook".to_owned(),
        documents: 3,
        passages: 9_007_199_254_740_993,
        ..Collection::default()
    }
}

/// A gateway in front of the services; all end with the test.
pub(crate) struct Fixture {
    pub(crate) url: String,
    /// The URL of both services behind it.
    pub(crate) services: String,
    pub(crate) client: reqwest::Client,
    pub(crate) sent: Sent,
    pub(crate) questions: Arc<Mutex<Vec<Question>>>,
    /// `began` and `dropped` of calls that hang.
    pub(crate) hanging: mpsc::UnboundedReceiver<&'static str>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) served: tokio::task::JoinHandle<Result<(), emend_chassis::ServeError>>,
    _stop: DropGuard,
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut Options)) -> Self {
        let (sender, hanging) = mpsc::unbounded_channel();
        let standin = StandIn {
            sent: Sent::default(),
            questions: Arc::default(),
            hanging: sender,
        };
        let stop = CancellationToken::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let services = format!("http://{}", listener.local_addr().unwrap());
        let server = Server::new("standin", &emend_chassis::ServiceOptions::default())
            .add(OrchestratorServiceServer::new(standin.clone()))
            .add(standin.clone().into_server().max_decoding_message_size(64 << 20));
        tokio::spawn(server.serve(listener, stop.clone()));

        let mut options = Options::default();
        options.services.orchestrator_url.clone_from(&services);
        options.services.retriever_url.clone_from(&services);
        change(&mut options);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shutdown = CancellationToken::new();
        let served = tokio::spawn(serve(options, listener, shutdown.clone()));
        Self {
            url,
            services,
            client: emend_core::http::builder().timeout(PATIENCE).build().unwrap(),
            sent: standin.sent,
            questions: standin.questions,
            hanging,
            shutdown,
            served,
            _stop: stop.drop_guard(),
        }
    }

    pub(crate) fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.client.get(format!("{}{path}", self.url))
    }

    pub(crate) fn post(&self, path: &str, body: &serde_json::Value) -> reqwest::RequestBuilder {
        self.client.post(format!("{}{path}", self.url)).json(body)
    }

    /// The next word of a call that hangs; `nothing` where there is none in time.
    pub(crate) async fn hears(&mut self) -> &'static str {
        let heard = tokio::time::timeout(PATIENCE, self.hanging.recv()).await;
        heard.ok().flatten().unwrap_or("nothing")
    }
}

/// The events of a stream: name and data.
pub(crate) fn events(text: &str) -> Vec<(String, String)> {
    let field = |event: &str, name: &str| {
        let lines = event.lines().filter_map(|line| line.strip_prefix(name));
        lines.map(str::trim).collect::<Vec<_>>().join("\n")
    };
    text.split("\n\n")
        .filter(|event| event.contains("data:"))
        .map(|event| (field(event, "event:"), field(event, "data:")))
        .collect()
}

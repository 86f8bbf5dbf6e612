//! The service over real sockets, with the other five scripted behind real sockets too.

mod bounded;
mod differential;
mod feedback;
mod five;
mod keys;
mod largest;
mod questions;

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use clap::Parser as _;
use emend_chassis::ServeError;
use emend_core::limits::MAX_QUESTION_BYTES;
use emend_proto::v1::{self, WalkStatus, orchestrator_service_client::OrchestratorServiceClient, walk_event::Event};
use futures::StreamExt as _;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::{
    Code, Request, Status,
    transport::{Channel, Endpoint},
};
use tonic_types::StatusExt as _;

use self::five::{five, listen};
use crate::{
    Options,
    walk::{
        Dependency, Failure, Services,
        scripted::{Scripted, passage},
    },
};

/// An orchestrator on a port of its own.
struct Running {
    client: OrchestratorServiceClient<Channel>,
    shutdown: CancellationToken,
    served: JoinHandle<Result<(), ServeError>>,
}

impl Running {
    async fn with(services: Scripted, flags: &[&str]) -> Running {
        Running::calling(five(services).await, flags).await
    }

    async fn calling(five: SocketAddr, flags: &[&str]) -> Running {
        let (listener, address) = listen().await;
        let url = format!("http://{five}");
        let names = ["retriever", "grader", "generator", "rewriter", "web-search"];
        let urls = names.iter().flat_map(|name| [format!("--{name}-url"), url.clone()]);
        let flags = flags.iter().map(|flag| (*flag).to_owned());
        let options = Options::parse_from(["emend-orchestrator".to_owned()].into_iter().chain(urls).chain(flags));
        let shutdown = CancellationToken::new();
        let served = tokio::spawn(crate::serve(options, listener, shutdown.clone()));
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        let client = OrchestratorServiceClient::new(endpoint.connect().await.unwrap());
        Running {
            client,
            shutdown,
            served,
        }
    }

    async fn ask(&mut self, question: v1::Question) -> Result<v1::WalkResult, Status> {
        let request = v1::AskRequest {
            question: Some(question),
        };
        self.client
            .ask(request)
            .await
            .map(|response| response.into_inner().result.unwrap())
    }

    async fn stop(self) {
        drop(self.client);
        self.shutdown.cancel();
        self.served.await.unwrap().unwrap();
    }
}

fn question(text: &str) -> v1::Question {
    v1::Question {
        question: text.to_owned(),
        ..v1::Question::default()
    }
}

const QUESTION: &str = "Who keeps the lighthouse of Arran?";

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_over_the_wire() {
    let mut running = Running::with(Scripted::default(), &[]).await;
    let result = running.ask(question(QUESTION)).await.unwrap();
    assert_eq!(result.status(), WalkStatus::Answered);
    assert_eq!(
        (result.graph.as_str(), result.answer.as_str()),
        ("self-corrective-rag", "Answer 1.")
    );
    assert_eq!(result.options["max_retries"], 3.0);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_the_same_result() {
    let mut running = Running::with(Scripted::default(), &[]).await;
    let request = v1::AskStreamRequest {
        question: Some(question(QUESTION)),
    };
    let events: Vec<_> = running
        .client
        .ask_stream(request)
        .await
        .unwrap()
        .into_inner()
        .collect()
        .await;
    let events: Vec<_> = events.into_iter().map(|event| event.unwrap().event.unwrap()).collect();
    let text: String = events
        .iter()
        .filter_map(|event| match event.event.as_ref().unwrap() {
            Event::TextDelta(delta) => Some(delta.text.as_str()),
            _ => None,
        })
        .collect();
    let Some(Event::Finished(result)) = &events.last().unwrap().event else {
        panic!("the last event is {:?}", events.last());
    };
    assert_eq!(
        (result.status(), result.answer.as_str()),
        (WalkStatus::Answered, text.as_str())
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r15_everything_that_is_wrong_is_named_at_once() {
    let mut running = Running::with(Scripted::default(), &[]).await;
    let status = running
        .ask(v1::Question {
            question: " \n".to_owned(),
            graph: "self-rag".to_owned(),
            options: HashMap::from([("max_retires".to_owned(), 1.0), ("top_k".to_owned(), 101.0)]),
            ..v1::Question::default()
        })
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let violations: Vec<_> = status
        .get_details_bad_request()
        .unwrap()
        .field_violations
        .into_iter()
        .map(|violation| (violation.field, violation.description))
        .collect();
    assert_eq!(violations.len(), 3, "{violations:?}");
    assert_eq!(violations[0].0, "question.question");
    assert_eq!(
        violations[1],
        (
            "question.options[max_retires]".to_owned(),
            "unknown option; did you mean `max_retries`?; the options are top_k, max_count, max_retries, recursion_limit"
                .to_owned()
        )
    );
    assert_eq!(
        violations[2],
        (
            "question.options[top_k]".to_owned(),
            "101 is outside 1 to 100".to_owned()
        )
    );
    for (text, fits) in [(MAX_QUESTION_BYTES, true), (MAX_QUESTION_BYTES + 1, false)] {
        assert_eq!(running.ask(question(&"a".repeat(text))).await.is_ok(), fits, "{text}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r17_an_unknown_graph_is_not_found_with_the_known_ones() {
    let mut running = Running::with(Scripted::default(), &[]).await;
    let graph = "self-corective-rag".to_owned();
    let status = running
        .ask(v1::Question {
            graph,
            ..question(QUESTION)
        })
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    assert!(
        status.message().contains("did you mean `self-corrective-rag`?"),
        "{}",
        status.message()
    );
    assert!(
        status.message().contains("corrective-rag-binary, plain-rag"),
        "{}",
        status.message()
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r17_an_unknown_collection_comes_through_from_the_retriever() {
    let services = Scripted::default().retrieve(|_| {
        Err(Failure::new(
            Dependency::Retriever,
            emend_core::Code::NotFound,
            "unknown collection `isles`; the collections are coast",
        ))
    });
    let mut running = Running::with(services, &[]).await;
    let status = running.ask(question(QUESTION)).await.unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (Code::NotFound, "unknown collection `isles`; the collections are coast")
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_any_service_the_walk_fails_and_says_which_and_what_to_do() {
    let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
    let mut running = Running::calling(nobody, &[]).await;
    let result = running.ask(question(QUESTION)).await.unwrap();
    assert_eq!(result.status(), WalkStatus::Failed);
    let failure = result.failure.unwrap();
    assert_eq!(
        (failure.service.as_str(), failure.code.as_str(), failure.advice.as_str()),
        (
            "retriever",
            "UNAVAILABLE",
            "check that the retriever runs and can be reached"
        )
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r11_a_generator_that_hangs_does_not_keep_the_caller_waiting() {
    let services = Scripted::default().takes(Dependency::Generator, Duration::from_secs(3600));
    let mut running = Running::with(services, &[]).await;
    let mut request = Request::new(v1::AskRequest {
        question: Some(question(QUESTION)),
    });
    request.set_timeout(Duration::from_secs(4));
    let result = running.client.ask(request).await.unwrap().into_inner().result.unwrap();
    assert_eq!(result.status(), WalkStatus::Failed);
    assert!(
        result.reason.contains("generator: no answer within its share"),
        "{}",
        result.reason
    );
    running.stop().await;
}

/// Says when it is dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

async fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..3000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} never came true");
}

#[tokio::test(flavor = "multi_thread")]
async fn r12_a_caller_that_is_gone_frees_its_place() {
    let began = Arc::new(AtomicBool::new(false));
    let mark = Arc::clone(&began);
    let services = Scripted::default()
        .retrieve(move |_| {
            mark.store(true, Ordering::SeqCst);
            Ok(v1::RetrieveResponse::default())
        })
        .takes(Dependency::Retriever, Duration::from_secs(3600));
    let mut running = Running::with(services, &["--max-in-flight", "1"]).await;
    let mut other = running.client.clone();
    let gone = Arc::new(AtomicBool::new(false));
    let guard = Dropped(Arc::clone(&gone));
    let asking = tokio::spawn(async move {
        let _guard = guard;
        other
            .ask(v1::AskRequest {
                question: Some(question(QUESTION)),
            })
            .await
    });
    eventually("the first walk", || began.load(Ordering::SeqCst)).await;

    // R13: the place is taken, and that is said at once.
    let status = running.ask(question(QUESTION)).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.get_details_retry_info().unwrap().retry_delay.is_some());

    asking.abort();
    eventually("the caller's end", || gone.load(Ordering::SeqCst)).await;
    let mut freed = false;
    for _ in 0..300 {
        let mut request = Request::new(v1::AskRequest {
            question: Some(question(QUESTION)),
        });
        request.set_timeout(Duration::from_millis(400));
        let code = running.client.ask(request).await.err().map(|status| status.code());
        freed = code != Some(Code::ResourceExhausted);
        if freed {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(freed, "the walk of a caller that is gone still holds its place");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_walk_that_panics_fails_alone() {
    use crate::{
        Orchestrator,
        walk::WalkMetrics,
        work::{WalkRunner, WalkServices},
    };
    use emend_chassis::{ActorHandle, ActorOptions, ActorSystem, HealthFlag, ServiceOptions};
    use v1::orchestrator_service_server::OrchestratorService as _;

    let services: Arc<dyn Services> = Arc::new(Scripted::default().retrieve(|request| {
        assert!(!request.query.contains("panic"), "as the test wants it");
        Ok(v1::RetrieveResponse {
            passages: vec![passage("1")],
        })
    }));
    let services = WalkServices(Arc::new(move || Ok(Arc::clone(&services))));
    let system = ActorSystem::start("walks-test").unwrap();
    let walks = ActorHandle::start(
        &system,
        // One actor, so that a panic that spread would take the other walk with it.
        ActorOptions {
            threads: 1,
            ..ActorOptions::new("orchestrator", &ServiceOptions::default())
        },
        HealthFlag::detached(crate::SERVICE_NAME),
        move || Arc::new(WalkRunner::new(services.clone(), WalkMetrics::default())),
    )
    .unwrap();
    let orchestrator = Orchestrator::new(crate::catalog::load_live(None).unwrap(), "self-corrective-rag", walks);
    let ask = |text: &str| {
        let request = Request::new(v1::AskRequest {
            question: Some(question(text)),
        });
        orchestrator.ask(request)
    };
    let (panicked, fine) = tokio::join!(ask("Does a panic spread?"), ask(QUESTION));
    let status = panicked.unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (Code::Internal, "the walk failed inside; the log has the cause")
    );
    assert_eq!(
        fine.unwrap().into_inner().result.unwrap().status(),
        WalkStatus::Answered
    );
    assert!(ask(QUESTION).await.is_ok());
    system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn graphs_are_listed_described_and_checked() {
    let mut running = Running::with(Scripted::default(), &[]).await;
    let listed = running
        .client
        .list_graphs(v1::ListGraphsRequest {})
        .await
        .unwrap()
        .into_inner()
        .graphs;
    let self_rag = listed.iter().find(|graph| graph.name == "self-rag").unwrap();
    let worst = self_rag.worst_case.clone().unwrap();
    assert_eq!((listed.len(), worst.steps, worst.model_calls), (8, 28, 46));

    let name = "self-rag".to_owned();
    let described = running
        .client
        .get_graph(v1::GetGraphRequest { name })
        .await
        .unwrap()
        .into_inner();
    assert!(described.mermaid.starts_with("flowchart TD\n"));
    assert!(
        described
            .options
            .iter()
            .any(|option| option.name == "max_retries" && option.default_value == Some(3.0))
    );
    assert_eq!(described.start, "retrieve");
    let graded = described
        .nodes
        .iter()
        .find(|node| node.name == "grade_generation")
        .unwrap();
    let edges: Vec<(&str, &str, &str)> = graded
        .edges
        .iter()
        .filter(|edge| edge.outcome == "not_supported")
        .map(|edge| (edge.outcome.as_str(), edge.condition.as_str(), edge.to.as_str()))
        .collect();
    assert_eq!(
        edges,
        [
            ("not_supported", "visits(generate) <= max_retries", "generate"),
            ("not_supported", "", "finish"),
        ]
    );
    let ends: Vec<WalkStatus> = described
        .nodes
        .iter()
        .flat_map(|node| &node.edges)
        .filter(|edge| edge.to == "finish")
        .map(v1::GraphEdge::finish)
        .collect();
    assert!(ends.contains(&WalkStatus::Answered) && !ends.contains(&WalkStatus::Unspecified));

    let name = "nothing".to_owned();
    let unknown = running
        .client
        .get_graph(v1::GetGraphRequest { name })
        .await
        .unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);

    let yaml = described.yaml;
    let sound = running
        .client
        .validate_graph(v1::ValidateGraphRequest {
            yaml: yaml.clone(),
            options: [("max_retries".to_owned(), 1.0)].into(),
        })
        .await
        .unwrap()
        .into_inner();
    let worst = sound.worst_case.unwrap();
    assert_eq!((sound.findings.len(), worst.steps), (0, 18));
    assert_eq!(worst.steps_formula, "3·max_count + 5·max_retries + 4");
    let yaml = yaml.replace("    useful: finish(answered)\n", "");
    let wrong = running
        .client
        .validate_graph(v1::ValidateGraphRequest {
            yaml,
            ..v1::ValidateGraphRequest::default()
        })
        .await
        .unwrap()
        .into_inner();
    assert_eq!(wrong.findings.len(), 1);
    assert_eq!(wrong.findings[0].node, "grade_generation");
    assert!(wrong.findings[0].line > 0 && wrong.findings[0].message.contains("`useful`"));
    assert!(wrong.worst_case.is_none());
    running.stop().await;
}

#[tokio::test]
async fn an_unknown_default_graph_keeps_the_service_from_starting() {
    let (listener, _) = listen().await;
    let options = Options::parse_from(["emend-orchestrator", "--default-graph", "self-rga"]);
    let error = crate::serve(options, listener, CancellationToken::new())
        .await
        .unwrap_err();
    let message = emend_core::error_chain(&error);
    assert!(
        message.contains("--default-graph: unknown graph `self-rga`; did you mean `self-rag`?"),
        "{message}"
    );
}

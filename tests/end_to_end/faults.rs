//! A dependency that fails degrades the walk, visibly; it never hangs it.

use std::time::Duration;

use emend_cli::cluster::{Component, Plan};
use emend_cli::{documents::Reading, ingest::Prune};
use emend_core::Deadline;
use emend_proto::v1::{AskRequest, AskStreamRequest, Failure, IngestRequest, WalkStatus, walk_event::Event};
use emend_testkit::{
    bad_grader::{BadGrader, Behaviour},
    http_server::{HttpAnswer, HttpServer},
};
use emend_tests::{Fixture, PATIENCE, question};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;

const LIGHTHOUSE: &str = "The Torvik lighthouse was built in 1873 by the engineer Ansgar Lund.";
const ASKED: &str = "Who built the Torvik lighthouse in 1873?";

#[tokio::test(flavor = "multi_thread")]
async fn without_a_grader_the_best_answer_is_given_and_marked() {
    for behaviour in [Behaviour::Fails, Behaviour::FullOnce] {
        let (grader, address) = BadGrader::start(behaviour).await;
        let plan = Plan::default().elsewhere(Component::Grader, format!("http://{address}"));
        let fixture = Fixture::start_with(plan, None).await;
        fixture.ingest("village", &[("lighthouse", LIGHTHOUSE)]).await;
        for graph in ["self-rag", "self-corrective-rag", "corrective-rag-binary"] {
            let result = fixture.ask(question(ASKED, graph, "village")).await.expect(graph);
            assert_eq!(result.status(), WalkStatus::Unverified, "{graph}: {result:?}");
            assert!(result.answer.contains("Ansgar Lund"), "{graph}: {result:?}");
            assert!(
                result.steps.iter().any(|step| step.error.contains("scripted failure")),
                "{graph}: {result:?}"
            );
        }
        assert!(grader.calls() > 0);
        fixture.cluster.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grader_that_hangs_is_left_before_the_deadline() {
    let (grader, address) = BadGrader::start(Behaviour::Hangs).await;
    let plan = Plan::default().elsewhere(Component::Grader, format!("http://{address}"));
    let fixture = Fixture::start_with(plan, None).await;
    fixture.ingest("village", &[("lighthouse", LIGHTHOUSE)]).await;
    let asked = AskRequest {
        question: Some(question(ASKED, "self-corrective-rag", "village")),
    };
    let request = emend_chassis::request(asked, Deadline::after(Duration::from_secs(4)));
    let result = fixture
        .orchestrator()
        .ask(request)
        .await
        .expect("a result, not a timeout");
    let result = result.into_inner().result.unwrap();
    assert!(
        matches!(result.status(), WalkStatus::Unverified | WalkStatus::Abstained),
        "{result:?}"
    );
    assert!(!result.reason.is_empty(), "{result:?}");
    assert!(grader.calls() > 0);
    fixture.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_caller_leaves_the_work_stops_on_every_hop() {
    let (grader, address) = BadGrader::start(Behaviour::Hangs).await;
    let plan = Plan::default().elsewhere(Component::Grader, format!("http://{address}"));
    let fixture = Fixture::start_with(plan, None).await;
    fixture.ingest("village", &[("lighthouse", LIGHTHOUSE)]).await;
    let asked = AskStreamRequest {
        question: Some(question(ASKED, "self-rag", "village")),
    };
    let request = emend_chassis::request(asked, Deadline::after(PATIENCE));
    let mut stream = fixture.orchestrator().ask_stream(request).await.unwrap().into_inner();
    tokio::time::timeout(PATIENCE, async {
        while grader.calls() == 0 {
            stream.message().await.unwrap();
        }
        drop(stream);
        while grader.abandoned() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("the grader's caller goes away with the client");
    fixture.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grader_killed_in_the_middle_of_a_walk_does_not_end_it() {
    let mut fixture = Fixture::start().await;
    fixture.ingest("village", &[("lighthouse", LIGHTHOUSE)]).await;
    let asked = AskStreamRequest {
        question: Some(question(ASKED, "self-corrective-rag", "village")),
    };
    let request = emend_chassis::request(asked, Deadline::after(PATIENCE));
    let mut stream = fixture.orchestrator().ask_stream(request).await.unwrap().into_inner();
    let mut result = None;
    while let Some(event) = stream.message().await.unwrap() {
        match event.event.and_then(|event| event.event) {
            Some(Event::StepStarted(started)) if started.step == 1 => fixture.cluster.kill(Component::Grader),
            Some(Event::Finished(finished)) => result = Some(finished),
            _ => {}
        }
    }
    let result = result.expect("a result");
    assert!(result.answer.contains("Ansgar Lund"), "{result:?}");
    // The walk may have been past its grading when the kill arrived.
    assert!(
        matches!(result.status(), WalkStatus::Answered | WalkStatus::Unverified),
        "{result:?}"
    );
    let failed = result.steps.iter().any(|step| !step.error.is_empty());
    assert_eq!(failed, result.status() == WalkStatus::Unverified, "{result:?}");
    fixture.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_retriever_the_walk_fails_and_names_it() {
    let plan = Plan::default().elsewhere(Component::Retriever, "http://127.0.0.1:1");
    let fixture = Fixture::start_with(plan, None).await;
    for graph in ["plain-rag", "self-corrective-rag"] {
        let failure = failure_of(&fixture, graph).await.unwrap().unwrap();
        assert_eq!(
            (failure.service.as_str(), failure.code.as_str()),
            ("retriever", "UNAVAILABLE"),
            "{graph}: {failure:?}"
        );
    }
    fixture.cluster.stop().await;
}

/// Why a walk has no answer; none where it has one or abstained.
async fn failure_of(fixture: &Fixture, graph: &str) -> Result<Option<Failure>, tonic::Status> {
    let result = fixture.ask(question(ASKED, graph, "village")).await?;
    let failed = result.status() == WalkStatus::Failed && result.answer.is_empty();
    Ok(result.failure.filter(|_| failed))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generator_that_is_stopped_fails_the_walk() {
    let mut fixture = Fixture::start().await;
    fixture.ingest("village", &[("lighthouse", LIGHTHOUSE)]).await;
    fixture.cluster.kill(Component::Generator);
    let failure = failure_of(&fixture, "self-corrective-rag").await.unwrap().unwrap();
    assert_eq!(
        (failure.service.as_str(), failure.code.as_str()),
        ("generator", "UNAVAILABLE"),
        "{failure:?}"
    );
    assert!(failure.advice.contains("check that the generator runs"), "{failure:?}");
    fixture.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_language_model_that_refuses_the_key_fails_the_walk_and_says_what_to_do() {
    let server = HttpServer::start(|_, _| {
        let body = r#"{"error": {"message": "Incorrect API key provided"}}"#;
        HttpAnswer::response("401 Unauthorized", "content-type: application/json\r\n", body)
    })
    .await;
    let url = format!("{}/v1", server.url());
    let flags = ["--llm-url", &url, "--llm-model", "some-model"];
    let fixture = Fixture::with_flags(Plan::default(), &flags).await;
    fixture.ingest("village", &[("lighthouse", LIGHTHOUSE)]).await;
    let failure = failure_of(&fixture, "self-corrective-rag").await.unwrap().unwrap();
    assert_eq!(
        (failure.service.as_str(), failure.code.as_str()),
        ("generator", "FAILED_PRECONDITION"),
        "{failure:?}"
    );
    assert!(failure.cause.contains("Incorrect API key"), "{failure:?}");
    assert!(failure.advice.starts_with("check the API key"), "{failure:?}");
    fixture.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_language_model_that_is_down_is_asked_three_times_and_each_call_is_counted() {
    let server = HttpServer::start(|_, _| HttpAnswer::response("503 Service Unavailable", "", "down")).await;
    let url = format!("{}/v1", server.url());
    let flags = ["--llm-url", &url, "--llm-model", "some-model"];
    let fixture = Fixture::with_flags(Plan::default(), &flags).await;
    fixture.ingest("village", &[("lighthouse", LIGHTHOUSE)]).await;
    let result = fixture.ask(question(ASKED, "plain-rag", "village")).await.unwrap();
    assert_eq!(result.status(), WalkStatus::Failed, "{result:?}");
    let failure = result.failure.as_ref().unwrap();
    assert_eq!(
        (failure.service.as_str(), failure.code.as_str()),
        ("generator", "UNAVAILABLE"),
        "{failure:?}"
    );
    let requests = server.seen().requests;
    // One layer retries: the client of the model, and none of those above it.
    assert!((1..=3).contains(&requests), "{requests} requests");
    let usage = result.usage.unwrap();
    assert_eq!(usage.model_calls as usize, requests, "{usage:?}");
    fixture.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_web_search_an_abstention_is_no_failure() {
    let fixture = Fixture::start().await;
    fixture.ingest("village", &[("lighthouse", LIGHTHOUSE)]).await;
    let asked = question("Which comet passes Jupiter's moons?", "self-corrective-rag", "village");
    let result = fixture.ask(asked).await.unwrap();
    assert_eq!(result.status(), WalkStatus::Abstained, "{result:?}");
    assert!(result.failure.is_none());
    let nodes: Vec<_> = result.steps.iter().map(|step| step.node.as_str()).collect();
    assert!(
        nodes.contains(&"retrieve_more") && nodes.contains(&"web_search"),
        "{nodes:?}"
    );
    fixture.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ingest_waits_until_the_retriever_has_room_for_its_stream() {
    let fixture = Fixture::start().await;
    let documents = tempfile::tempdir().unwrap();
    std::fs::write(
        documents.path().join("bakery.md"),
        "The village bakery sells rye bread on Tuesdays.",
    )
    .unwrap();
    let mut held = Vec::new();
    let refused = loop {
        let (sender, requests) = tokio::sync::mpsc::channel::<IngestRequest>(1);
        match fixture.retriever().ingest(ReceiverStream::new(requests)).await {
            Ok(answers) => held.push((sender, answers)),
            Err(status) => break status,
        }
    };
    assert_eq!((refused.code(), held.len()), (Code::ResourceExhausted, 8));
    let found = emend_cli::ingest::found(&[documents.path().to_owned()], &Reading::default()).unwrap();
    let channel = fixture.cluster.channel(Component::Retriever).unwrap();
    let mut ingest = Box::pin(emend_cli::ingest::ingest(channel, "village", found, Prune::Nothing));
    let early = tokio::time::timeout(Duration::from_millis(500), &mut ingest).await;
    assert!(early.is_err(), "it ends while there is no room: {early:?}");
    held.pop();
    let outcome = tokio::time::timeout(PATIENCE, ingest).await.unwrap().unwrap();
    assert_eq!(outcome.ingested, 1);
    drop(held);
    fixture.cluster.stop().await;
}

//! Messages that nobody means to send, to every call of every service: each is answered, and none with INTERNAL or UNKNOWN.
//!
//! `EMEND_HOSTILE_CASES=1000` sends other messages each time, and so many to each call.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod messages;
mod raw;

use std::cell::Cell;

use emend_cli::cluster::{Component, Plan};
use emend_testkit::language_model::LanguageModel;
use emend_tests::{Fixture, PATIENCE, question};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor, ServiceDescriptor};
use tokio::{runtime::Runtime, time::timeout};
use tonic::{Code, Status};

/// Streams of messages for each call.
const CASES: u32 = 16;
/// Answers are smaller than this, in bytes, whatever is asked.
const MAX_ANSWER_BYTES: usize = 64 << 20;
/// Calls that may not be served for any of these messages: there is no feedback folder.
const NEVER_SERVED: [&str; 2] = [
    "emend.v1.OrchestratorService.RecordFeedback",
    // A record that holds a walk is no matter of chance.
    "emend.v1.OrchestratorService.ReplayWalk",
];
/// What the services may be blamed for, whatever they are sent.
const FAULTS: [Code; 6] = [
    Code::Internal,
    Code::Unknown,
    Code::Unavailable,
    Code::DeadlineExceeded,
    Code::Cancelled,
    Code::DataLoss,
];

fn runner() -> TestRunner {
    let asked = std::env::var("EMEND_HOSTILE_CASES").ok();
    let config = Config {
        cases: asked.as_ref().map_or(CASES, |cases| cases.parse().expect("a number")),
        failure_persistence: None,
        max_shrink_iters: 64,
        ..Config::default()
    };
    match asked {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    }
}

fn component(service: &ServiceDescriptor) -> Component {
    match service.name() {
        "OrchestratorService" => Component::Orchestrator,
        "RetrieverService" => Component::Retriever,
        "GraderService" => Component::Grader,
        "GeneratorService" => Component::Generator,
        "RewriterService" => Component::Rewriter,
        "WebSearchService" => Component::WebSearch,
        other => panic!("{other} is served by nobody here"),
    }
}

/// Whether a call is served and not refused, or what is wrong with its answer.
async fn served(fixture: &Fixture, method: &MethodDescriptor, sent: Vec<Vec<u8>>) -> Result<bool, String> {
    let channel = fixture.cluster.channel(component(method.parent_service())).unwrap();
    let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
    let answer = timeout(2 * PATIENCE, raw::call(channel, &path, sent))
        .await
        .map_err(|_| "no answer".to_owned())?;
    let messages = match answer {
        Ok(messages) => messages,
        Err(status) if FAULTS.contains(&status.code()) && !is_of_model(&status) => return Err(format!("{status:?}")),
        Err(_) => return Ok(false),
    };
    let bytes: usize = messages.iter().map(Vec::len).sum();
    if bytes > MAX_ANSWER_BYTES {
        return Err(format!("{bytes} bytes"));
    }
    for message in messages {
        let answer = DynamicMessage::decode(method.output(), message.as_slice()).map_err(|error| error.to_string())?;
        // A walk that a service could not serve says so in its result.
        let shown = serde_json::to_string(&answer).unwrap();
        if shown.contains(r#""code":"INTERNAL""#) {
            return Err(shown);
        }
    }
    Ok(true)
}

/// Whether a language model is to blame, which the stand-in sometimes is: it repeats what it was asked to continue.
fn is_of_model(status: &Status) -> bool {
    emend_chassis::failed_model_calls(status).is_some()
}

/// Sends messages to every call there is.
fn send_to_all(flags: &[&str], runtime: &Runtime) {
    let pages = tempfile::tempdir().unwrap();
    std::fs::write(
        pages.path().join("bread.md"),
        "# Bread\n\nThe bakery sells rye bread on Tuesdays.",
    )
    .unwrap();
    let flags = [flags, &["--web-folder", pages.path().to_str().unwrap()]].concat();
    let fixture = runtime.block_on(Fixture::with_flags(Plan::default(), &flags));
    let stored = [
        (
            "leave.md",
            "# Leave\n\nEvery employee has 25 days of paid leave a year.",
        ),
        ("ferry.md", "The ferry leaves at seven."),
    ];
    let pool = DescriptorPool::decode(emend_proto::FILE_DESCRIPTOR_SET).unwrap();
    let mut refused = Vec::new();
    let mut calls = 0;
    for method in pool
        .services()
        .flat_map(|service| service.methods().collect::<Vec<_>>())
    {
        // The call before may have removed them.
        runtime.block_on(fixture.ingest(messages::COLLECTION, &stored));
        let most = if method.is_client_streaming() { 4 } else { 1 };
        let answered = Cell::new(0);
        let sent = runner().run(&messages::stream(&method.input(), most), |sent| {
            let bytes = sent.iter().map(|message| message.to_bytes()).collect();
            let served = runtime
                .block_on(served(&fixture, &method, bytes))
                .map_err(TestCaseError::fail)?;
            answered.set(answered.get() + u32::from(served));
            Ok(())
        });
        if let Err(error) = sent {
            panic!("{}: {error}", method.full_name());
        }
        if answered.get() == 0 {
            refused.push(method.full_name().to_owned());
        }
        calls += 1;
    }
    assert!(calls >= 25, "{calls} calls");
    refused.retain(|method| !NEVER_SERVED.contains(&method.as_str()));
    assert_eq!(refused, [""; 0], "messages that are all refused try nothing");
    runtime.block_on(async {
        fixture.ingest("after", &stored).await;
        let asked = question(
            "How many days of paid leave does every employee have?",
            "self-rag",
            "after",
        );
        assert!(
            fixture.ask(asked).await.unwrap().answer.contains("25"),
            "all of them still serve"
        );
        fixture.cluster.stop().await;
    });
}

#[test]
fn no_message_breaks_a_call() {
    send_to_all(&[], &Runtime::new().unwrap());
}

#[test]
fn no_message_breaks_a_call_that_asks_a_language_model() {
    let runtime = Runtime::new().unwrap();
    let model = runtime.block_on(LanguageModel::start());
    let url = model.url();
    let flags = ["--llm-url", &url, "--llm-model", "stand-in"];
    let backends = ["--grader", "llm", "--generator", "llm", "--rewriter", "llm"];
    send_to_all(&[&flags[..], &backends].concat(), &runtime);
}

//! Messages that nobody means to send, to every call of every service: each is answered, and none with INTERNAL or UNKNOWN.
//!
//! A case is some messages to each call. `EMEND_FUZZ_SECONDS=60` sends others for so long.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod messages;
mod raw;

use emend_cli::cluster::{Component, Plan};
use emend_fuzz::fuzz_cases;
use emend_testkit::language_model::LanguageModel;
use emend_tests::{Fixture, PATIENCE, question};
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::{TestCaseError, TestRunner},
};
use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor, ServiceDescriptor};
use tokio::{runtime::Runtime, time::timeout};
use tonic::{Code, Status};

/// Streams of messages for each call, unless there is a time.
const CASES: u32 = 16;
/// Streams of messages in a row that a call may refuse.
const MOST_REFUSED: u32 = 200;
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
fn send_to_all(name: &str, flags: &[&str], runtime: &Runtime) {
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
    let methods: Vec<_> = pool
        .services()
        .flat_map(|service| service.methods().collect::<Vec<_>>())
        .collect();
    assert!(methods.len() >= 25, "{} calls", methods.len());
    let streams: Vec<_> = methods
        .iter()
        .map(|method| {
            let most = if method.is_client_streaming() { 4 } else { 1 };
            messages::stream(&method.input(), most).boxed()
        })
        .collect();
    let send = |method: &MethodDescriptor, sent: Vec<messages::Sent>| {
        // The call before may have removed them.
        runtime.block_on(fixture.ingest(messages::COLLECTION, &stored));
        let bytes = sent.iter().map(|message| message.to_bytes()).collect();
        runtime
            .block_on(served(&fixture, method, bytes))
            .map_err(|error| format!("{}: {error}", method.full_name()))
    };
    // Messages that are all refused try nothing.
    let mut runner = TestRunner::deterministic();
    for (method, stream) in methods.iter().zip(&streams) {
        let is_served = (0..MOST_REFUSED).any(|_| {
            let sent = stream.new_tree(&mut runner).unwrap().current();
            send(method, sent).unwrap()
        });
        let never = NEVER_SERVED.contains(&method.full_name());
        assert!(is_served || never, "{} refuses all", method.full_name());
    }
    fuzz_cases(name, CASES, streams, |streams| {
        for (method, sent) in methods.iter().zip(streams) {
            send(method, sent).map_err(TestCaseError::fail)?;
        }
        Ok(())
    });
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
fn fuzz_every_call() {
    send_to_all("every call", &[], &Runtime::new().unwrap());
}

#[test]
fn fuzz_every_call_over_a_language_model() {
    let runtime = Runtime::new().unwrap();
    let model = runtime.block_on(LanguageModel::start());
    let url = model.url();
    let flags = ["--llm-url", &url, "--llm-model", "stand-in"];
    let backends = ["--grader", "llm", "--generator", "llm", "--rewriter", "llm"];
    send_to_all(
        "every call over a language model",
        &[&flags[..], &backends].concat(),
        &runtime,
    );
}

//! The largest requests that the contracts allow, alone and 64 at once, against one process with all six services: it
//! lives, stays within its memory, and answers health probes all the while.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use emend_core::limits;
use emend_proto::v1::{
    AskRequest, ChatMessage, DecideRetrievalRequest, Document, GenerateRequest, GradeDocumentsRequest,
    GradeGroundednessRequest, GradeUsefulnessRequest, IngestRequest, Passage, Question, RefineKnowledgeRequest,
    ReplayWalkRequest, RetrieveRequest, RewritePurpose, RewriteRequest, SearchRequest, ValidateGraphRequest,
    WalkRecord, WalkResult, chat_message::Role, generator_service_client::GeneratorServiceClient,
    grader_service_client::GraderServiceClient, orchestrator_service_client::OrchestratorServiceClient,
    retriever_service_client::RetrieverServiceClient, rewriter_service_client::RewriterServiceClient,
    web_search_service_client::WebSearchServiceClient,
};
use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use tokio::runtime;
use tokio::sync::watch;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use super::{Place, up::Up};

/// Calls at once.
const AT_ONCE: usize = 64;
/// Most memory that the process may ever have had, in bytes.
const MAX_RESIDENT: u64 = 1 << 30;
/// The deadline of each large call. None has to be done by then: it is refused, or ends in time.
const DEADLINE: Duration = Duration::from_secs(2);
/// A guard against hanging, never a measure.
const HANG: Duration = Duration::from_secs(60);

/// A walk with the largest question that a record has.
fn recorded(question: &str) -> WalkResult {
    WalkResult {
        record: Some(WalkRecord {
            version: 1,
            question: Some(Question {
                question: question.to_owned(),
                history: history(),
                graph_yaml: graph(),
                ..Question::default()
            }),
            passages: vec![
                Passage {
                    text: text(64 << 10),
                    ..Passage::default()
                };
                32
            ],
            ..WalkRecord::default()
        }),
        ..WalkResult::default()
    }
}

/// Text of so many bytes, whose words repeat late.
fn text(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    for number in 0.. {
        if text.len() >= bytes {
            break;
        }
        let end = if number % 12 == 11 { ". " } else { " " };
        text.push_str(&format!("w{}{end}", number % 5_003));
    }
    text.truncate(bytes);
    text
}

fn passages(count: usize) -> Vec<Passage> {
    let passage = |number| Passage {
        id: format!("p{number}"),
        text: text(limits::MAX_PASSAGE_BYTES),
        ..Passage::default()
    };
    (0..count).map(passage).collect()
}

fn history() -> Vec<ChatMessage> {
    let turn = ChatMessage {
        role: Role::User.into(),
        content: text(limits::MAX_QUESTION_BYTES),
    };
    vec![turn; limits::MAX_HISTORY]
}

/// A graph of as many nodes and as many bytes of YAML as are allowed.
fn graph() -> String {
    let mut yaml = "name: large\nstart: n0\nnodes:\n".to_owned();
    let nodes = 200;
    for number in 0..nodes {
        yaml.push_str(&format!("  n{number}: {{action: pass}}\n"));
    }
    yaml.push_str("edges:\n");
    for number in 1..nodes {
        yaml.push_str(&format!("  n{}: {{done: n{number}}}\n", number - 1));
    }
    yaml.push_str(&format!("  n{}: {{done: finish(abstained)}}\n# ", nodes - 1));
    yaml.push_str(&"x".repeat(limits::MAX_GRAPH_BYTES - yaml.len()));
    yaml
}

type Call = Box<dyn Fn() -> BoxFuture<'static, Result<(), Status>> + Send + Sync>;

fn timed<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(DEADLINE);
    request
}

/// A call of `$method` with a copy of `$message`.
macro_rules! call {
    ($client:expr, $method:ident, $message:expr) => {{
        let (client, message) = ($client, $message);
        let call: Call = Box::new(move || {
            let (mut client, message) = (client.clone(), message.clone());
            async move { client.$method(timed(message)).await.map(drop) }.boxed()
        });
        (stringify!($method), AT_ONCE, call)
    }};
}

fn calls(up: &Up) -> Vec<(&'static str, usize, Call)> {
    let large = 16 << 20;
    let grader = GraderServiceClient::new(up.channel("grader"))
        .max_encoding_message_size(large)
        .max_decoding_message_size(large);
    let generator = GeneratorServiceClient::new(up.channel("generator")).max_encoding_message_size(large);
    let rewriter = RewriterServiceClient::new(up.channel("rewriter")).max_encoding_message_size(large);
    let retriever = RetrieverServiceClient::new(up.channel("retriever")).max_encoding_message_size(64 << 20);
    let orchestrator = OrchestratorServiceClient::new(up.channel("orchestrator"));
    let web = WebSearchServiceClient::new(up.channel("web-search"));
    let question = text(limits::MAX_QUESTION_BYTES);
    let answer = text(limits::MAX_ANSWER_BYTES);
    let evidence = passages(limits::MAX_PASSAGES);
    let filter = (0..limits::MAX_FILTERS)
        .map(|number| (format!("k{number}"), "v".repeat(512)))
        .collect();
    let ingest: Call = {
        let document = IngestRequest {
            collection: "large".to_owned(),
            document: Some(Document {
                id: "large".to_owned(),
                content: text(limits::MAX_DOCUMENT_BYTES).into_bytes(),
                ..Document::default()
            }),
        };
        let document = Arc::new(document);
        Box::new(move || {
            let (mut client, document) = (retriever.clone(), Arc::clone(&document));
            async move {
                let stream = futures::stream::once(async move { IngestRequest::clone(&document) });
                let mut answers = client.ingest(timed(stream)).await?.into_inner();
                while answers.message().await?.is_some() {}
                Ok(())
            }
            .boxed()
        })
    };
    let retriever = RetrieverServiceClient::new(up.channel("retriever"));
    vec![
        call!(
            grader.clone(),
            grade_documents,
            GradeDocumentsRequest {
                question: question.clone(),
                passages: evidence.clone(),
                ..GradeDocumentsRequest::default()
            }
        ),
        call!(
            grader.clone(),
            grade_groundedness,
            GradeGroundednessRequest {
                question: question.clone(),
                passages: evidence.clone(),
                answer: answer.clone(),
                sentences: Vec::new(),
            }
        ),
        call!(
            grader.clone(),
            grade_usefulness,
            GradeUsefulnessRequest {
                question: question.clone(),
                answer: answer.clone(),
                passages: evidence.clone(),
            }
        ),
        call!(
            grader.clone(),
            decide_retrieval,
            DecideRetrievalRequest {
                question: question.clone(),
                answer_so_far: answer.clone(),
                passages: evidence.clone(),
                ..DecideRetrievalRequest::default()
            }
        ),
        call!(
            grader,
            refine_knowledge,
            RefineKnowledgeRequest {
                question: question.clone(),
                passages: evidence.clone(),
                size: Some(100),
                ..RefineKnowledgeRequest::default()
            }
        ),
        call!(
            generator,
            generate,
            GenerateRequest {
                question: question.clone(),
                passages: evidence,
                history: history(),
                ..GenerateRequest::default()
            }
        ),
        call!(
            rewriter,
            rewrite,
            RewriteRequest {
                question: question.clone(),
                failed_queries: vec![question.clone(); limits::MAX_FAILED_QUERIES],
                purpose: RewritePurpose::Retrieval.into(),
                history: history(),
                passages: passages(limits::MAX_REWRITE_PASSAGES),
                ..RewriteRequest::default()
            }
        ),
        call!(
            retriever,
            retrieve,
            RetrieveRequest {
                query: question.clone(),
                collection: "handbook".to_owned(),
                top_k: Some(100),
                filter,
                ..RetrieveRequest::default()
            }
        ),
        call!(
            web,
            search,
            SearchRequest {
                query: question.clone(),
                max_results: Some(limits::MAX_WEB_RESULTS),
                ..SearchRequest::default()
            }
        ),
        call!(
            orchestrator.clone(),
            validate_graph,
            ValidateGraphRequest {
                yaml: graph(),
                ..ValidateGraphRequest::default()
            }
        ),
        call!(
            orchestrator.clone(),
            replay_walk,
            ReplayWalkRequest {
                walk: Some(recorded(&question)),
                ..ReplayWalkRequest::default()
            }
        ),
        call!(
            orchestrator,
            ask,
            AskRequest {
                question: Some(Question {
                    question,
                    collection: "handbook".to_owned(),
                    history: history(),
                    graph_yaml: graph(),
                    ..Question::default()
                }),
            }
        ),
        // The client's copies of 64 would take more memory than the service has.
        ("ingest", 8, ingest),
    ]
}

/// Probes the health of every service at these addresses until `done`. The longest answer.
async fn probe(services: Vec<(String, String)>, mut done: watch::Receiver<bool>) -> Duration {
    let mut longest = Duration::ZERO;
    let clients: Vec<_> = services
        .into_iter()
        .map(|(service, url)| {
            let channel = Channel::from_shared(url).unwrap().connect_lazy();
            (service, HealthClient::new(channel))
        })
        .collect();
    while !*done.borrow_and_update() {
        for (service, client) in &clients {
            let asked = Instant::now();
            let mut client = client.clone();
            let checked = client
                .check(HealthCheckRequest::default())
                .map(|outcome| outcome.map(drop));
            let outcome = tokio::time::timeout(HANG, checked).await;
            assert!(matches!(outcome, Ok(Ok(()))), "{service}: {outcome:?}");
            longest = longest.max(asked.elapsed());
        }
        drop(tokio::time::timeout(Duration::from_millis(20), done.changed()).await);
    }
    longest
}

/// A call that a caller would make beside all others.
fn small() -> GradeDocumentsRequest {
    GradeDocumentsRequest {
        question: "How many days of leave?".to_owned(),
        passages: vec![Passage {
            id: "a".to_owned(),
            text: "Every employee has 25 days of leave.".to_owned(),
            ..Passage::default()
        }],
        ..GradeDocumentsRequest::default()
    }
}

/// Makes one small call after the other until `done`, or `calls` of them. How long 99 of 100 took at most, and how many were
/// refused.
async fn small_calls(grader: String, calls: usize, mut done: watch::Receiver<bool>) -> (Duration, usize) {
    let mut grader = GraderServiceClient::new(Channel::from_shared(grader).unwrap().connect_lazy());
    let (mut took, mut refused) = (Vec::new(), 0);
    while took.len() + refused < calls && !*done.borrow_and_update() {
        let asked = Instant::now();
        let graded = tokio::time::timeout(HANG, grader.grade_documents(small())).await;
        match graded.unwrap() {
            Ok(_) => took.push(asked.elapsed()),
            Err(status) => {
                assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
                refused += 1;
            }
        }
        drop(tokio::time::timeout(Duration::from_millis(20), done.changed()).await);
    }
    took.sort();
    (took[took.len() * 99 / 100], refused)
}

/// How a call that is as large as it may be can end: done, refused, late, or told what is wrong with it.
fn is_bounded(outcome: &Result<(), Status>) -> bool {
    let code = outcome.as_ref().map_or_else(Status::code, |()| Code::Ok);
    matches!(
        code,
        Code::Ok
            | Code::ResourceExhausted
            | Code::DeadlineExceeded
            // What tonic's client calls its own end of a late call.
            | Code::Cancelled
            | Code::InvalidArgument
            | Code::NotFound
            | Code::FailedPrecondition
    )
}

/// Does something on a thread of its own.
fn beside<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> thread::JoinHandle<T> {
    thread::spawn(|| {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(work)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_requests_neither_stop_nor_fill_nor_block_the_services() {
    let place = Place::new();
    let up = Up::start(&mut place.emend(&["up"]));
    let (done, ended) = watch::channel(false);
    let load = async {
        for (name, at_once, call) in calls(&up) {
            for count in [1, at_once] {
                let outcomes = tokio::time::timeout(HANG, join_all((0..count).map(|_| call()))).await;
                let outcomes = outcomes.unwrap_or_else(|_| panic!("{name}: {count} at once hang"));
                for outcome in &outcomes {
                    assert!(is_bounded(outcome), "{name}, {count} at once: {outcome:?}");
                }
            }
            println!("{name}: the process had at most {} MiB", up.peak() >> 20);
        }
        done.send_replace(true);
    };
    // On threads of their own: what makes the large requests is not to hold them up.
    let services = up
        .services()
        .map(|service| (service.clone(), up.url(service).to_owned()));
    let services = services.collect();
    let grader = up.url("grader").to_owned();
    let (quiet, _) = small_calls(grader.clone(), 200, ended.clone()).await;
    let probing = beside(probe(services, ended.clone()));
    let calling = beside(small_calls(grader, usize::MAX, ended));
    load.await;
    let longest = probing.join().unwrap();
    println!("the slowest of the health probes took {longest:?}");
    let (loaded, refused) = calling.join().unwrap();
    println!(
        "99 of 100 small calls took at most {quiet:?} alone and {loaded:?} beside the large ones; {refused} were refused"
    );
    // Nothing of it is kept: a small call is as good as ever.
    let mut grader = GraderServiceClient::new(up.channel("grader"));
    tokio::time::timeout(HANG, grader.grade_documents(small()))
        .await
        .unwrap()
        .unwrap();
    let peak = up.peak();
    assert!(peak <= MAX_RESIDENT, "{} MiB", peak >> 20);
}

//! The largest request of each RPC that the contracts allow.

mod retriever;

use emend_core::limits;
use emend_proto::v1::{
    AskRequest, AskStreamRequest, ChatMessage, DecideRetrievalRequest, Document, EmbeddedDocument, EmbeddedPassage,
    EmbeddedSection, Feedback, FeedbackPassage, FeedbackVerdict, GenerateRequest, GetGraphRequest,
    GradeDocumentsRequest, GradeGroundednessRequest, GradeUsefulnessRequest, ImportCollectionRequest, IngestRequest,
    ListGraphsRequest, Passage, Question, RecordFeedbackRequest, RefineKnowledgeRequest, ReplayWalkRequest,
    RewritePurpose, RewriteRequest, SearchRequest, ValidateGraphRequest, WalkRecord, WalkResult, chat_message::Role,
    generator_service_client::GeneratorServiceClient, grader_service_client::GraderServiceClient,
    orchestrator_service_client::OrchestratorServiceClient, retriever_service_client::RetrieverServiceClient,
    rewriter_service_client::RewriterServiceClient, web_search_service_client::WebSearchServiceClient,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tonic::{Request, Status, Streaming};

use super::super::up::Up;
use super::DEADLINE;

/// Calls at once.
const AT_ONCE: usize = 64;
/// The same where the caller's copies of 64 requests would take more memory than the service has.
const AT_ONCE_LARGE: usize = 8;
/// More than any request here, and any reply.
const MESSAGE_BYTES: usize = 64 << 20;
/// The collection that is there.
const STORED: &str = "handbook";
/// Parts of the largest document of an import.
const PARTS: u32 = 14;

/// One RPC with its largest request.
pub(super) struct Large {
    /// As in `emend.v1.GraderService/GradeDocuments`.
    pub(super) method: &'static str,
    pub(super) at_once: usize,
    pub(super) call: Box<dyn Fn() -> BoxFuture<'static, Result<(), Status>> + Send + Sync>,
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
    let mut yaml = "name: large\ndescription: The most nodes and bytes.\nstart: n0\nnodes:\n".to_owned();
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

/// A question that takes the largest graph through the services.
fn question(text: &str) -> Question {
    Question {
        question: text.to_owned(),
        collection: STORED.to_owned(),
        history: history(),
        graph_yaml: graph(),
        ..Question::default()
    }
}

/// A walk with the largest question that a record has.
fn recorded(question: &str) -> WalkResult {
    let passage = Passage {
        text: text(limits::MAX_PASSAGE_BYTES),
        ..Passage::default()
    };
    WalkResult {
        record: Some(WalkRecord {
            version: 1,
            question: Some(Question {
                collection: String::new(),
                ..self::question(question)
            }),
            passages: vec![passage; 32],
            ..WalkRecord::default()
        }),
        ..WalkResult::default()
    }
}

fn feedback(question: &str, answer: &str) -> Feedback {
    let passage = |number| FeedbackPassage {
        id: format!("{number:0>1024}"),
        text: text(9 << 10),
        ..FeedbackPassage::default()
    };
    Feedback {
        question: question.to_owned(),
        answer: answer.to_owned(),
        verdict: FeedbackVerdict::Wrong.into(),
        comment: text(4 << 10),
        passages: (0..limits::MAX_PASSAGES).map(passage).collect(),
        ..Feedback::default()
    }
}

fn document(id: &str, bytes: usize) -> IngestRequest {
    IngestRequest {
        collection: STORED.to_owned(),
        document: Some(Document {
            id: id.to_owned(),
            content: text(bytes).into_bytes(),
            ..Document::default()
        }),
        ..IngestRequest::default()
    }
}

/// A part of an embedded document of 256 MiB, as large as a message to a retriever may be.
fn part(number: u32) -> ImportCollectionRequest {
    const SECTIONS: u32 = 160;
    const TERMS: u32 = 6_000;
    let (text, dimensions) = (text(60 << 10), 256_u16);
    let length = u32::try_from(text.len()).unwrap();
    let start = |section: u32| section * (length + 1);
    let section = |section: u32| EmbeddedSection {
        start: start(section),
        text: text.clone(),
        headings: Vec::new(),
    };
    let passage = |section: u32| EmbeddedPassage {
        section,
        start: start(section),
        end: start(section) + length,
        embedding: vec![f32::from(dimensions).sqrt().recip(); usize::from(dimensions)],
        term_hashes: (0..TERMS).collect(),
        term_weights: vec![1.0; TERMS as usize],
    };
    let sections = number * SECTIONS..(number + 1) * SECTIONS;
    ImportCollectionRequest {
        collection: "imported".to_owned(),
        embedder: "hashed-256".to_owned(),
        document: Some(EmbeddedDocument {
            id: "large".to_owned(),
            fingerprint: vec![7; 32],
            sections: sections.clone().map(section).collect(),
            passages: sections.map(passage).collect(),
            ..EmbeddedDocument::default()
        }),
        last: number + 1 == PARTS,
    }
}

fn timed<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(DEADLINE);
    request
}

/// Stores what the large requests are about: so many documents of one section each.
pub(super) async fn store(up: &Up, count: usize) {
    let documents = (0..count).map(|number| document(&format!("d{number}"), 60 << 10));
    let mut retriever = RetrieverServiceClient::new(up.channel("retriever"));
    let mut answers = retriever
        .ingest(futures::stream::iter(documents))
        .await
        .unwrap()
        .into_inner();
    let mut stored = 0;
    while let Some(answer) = answers.message().await.unwrap() {
        assert_eq!(answer.error, "");
        stored += 1;
    }
    assert_eq!(stored, count);
}

/// A call of `$method` with a copy of `$message`, to its end.
macro_rules! call {
    ($service:literal, $client:expr, $method:ident, $message:expr) => {
        call!($service, $client, $method, $message, |_| async { Ok(()) })
    };
    ($service:literal, $client:expr, $method:ident, $message:expr, $rest:expr) => {{
        let (client, message) = ($client.clone(), $message);
        Large {
            method: concat!($service, "::", stringify!($method)),
            at_once: AT_ONCE,
            call: Box::new(move || {
                let (mut client, message) = (client.clone(), message.clone());
                async move {
                    let answer = client.$method(timed(message)).await?.into_inner();
                    $rest(answer).await
                }
                .boxed()
            }),
        }
    }};
}
use call;

/// Reads a stream to its end.
async fn whole<T>(mut stream: Streaming<T>) -> Result<(), Status> {
    while stream.message().await?.is_some() {}
    Ok(())
}

fn of_grader(up: &Up) -> Vec<Large> {
    let grader = GraderServiceClient::new(up.channel("grader"))
        .max_encoding_message_size(MESSAGE_BYTES)
        .max_decoding_message_size(MESSAGE_BYTES);
    let (question, answer) = (text(limits::MAX_QUESTION_BYTES), text(limits::MAX_ANSWER_BYTES));
    let passages = passages(limits::MAX_PASSAGES);
    vec![
        call!(
            "GraderService",
            grader,
            grade_documents,
            GradeDocumentsRequest {
                question: question.clone(),
                passages: passages.clone(),
                ..GradeDocumentsRequest::default()
            }
        ),
        call!(
            "GraderService",
            grader,
            grade_groundedness,
            GradeGroundednessRequest {
                question: question.clone(),
                passages: passages.clone(),
                answer: answer.clone(),
                sentences: Vec::new(),
            }
        ),
        call!(
            "GraderService",
            grader,
            grade_usefulness,
            GradeUsefulnessRequest {
                question: question.clone(),
                answer: answer.clone(),
                passages: passages.clone(),
            }
        ),
        call!(
            "GraderService",
            grader,
            decide_retrieval,
            DecideRetrievalRequest {
                question: question.clone(),
                answer_so_far: answer,
                passages: passages.clone(),
                ..DecideRetrievalRequest::default()
            }
        ),
        call!(
            "GraderService",
            grader,
            refine_knowledge,
            RefineKnowledgeRequest {
                question,
                passages,
                size: Some(limits::MAX_STRIPS),
                ..RefineKnowledgeRequest::default()
            }
        ),
    ]
}

fn of_writers(up: &Up) -> Vec<Large> {
    let generator = GeneratorServiceClient::new(up.channel("generator")).max_encoding_message_size(MESSAGE_BYTES);
    let rewriter = RewriterServiceClient::new(up.channel("rewriter")).max_encoding_message_size(MESSAGE_BYTES);
    let web = WebSearchServiceClient::new(up.channel("web-search")).max_decoding_message_size(MESSAGE_BYTES);
    let question = text(limits::MAX_QUESTION_BYTES);
    vec![
        call!(
            "GeneratorService",
            generator,
            generate,
            GenerateRequest {
                question: question.clone(),
                passages: passages(limits::MAX_PASSAGES),
                history: history(),
                ..GenerateRequest::default()
            },
            whole
        ),
        call!(
            "RewriterService",
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
            "WebSearchService",
            web,
            search,
            SearchRequest {
                query: question,
                max_results: Some(limits::MAX_WEB_RESULTS),
                allowed_domains: (0..100).map(|number| format!("{:a>63}.{number}.example", "")).collect(),
                ..SearchRequest::default()
            }
        ),
    ]
}

fn of_orchestrator(up: &Up) -> Vec<Large> {
    let orchestrator = OrchestratorServiceClient::new(up.channel("orchestrator"));
    let asked = text(limits::MAX_QUESTION_BYTES);
    vec![
        call!(
            "OrchestratorService",
            orchestrator,
            validate_graph,
            ValidateGraphRequest {
                yaml: graph(),
                ..ValidateGraphRequest::default()
            }
        ),
        call!(
            "OrchestratorService",
            orchestrator,
            replay_walk,
            ReplayWalkRequest {
                walk: Some(recorded(&asked)),
                ..ReplayWalkRequest::default()
            }
        ),
        call!(
            "OrchestratorService",
            orchestrator,
            ask,
            AskRequest {
                question: Some(question(&asked)),
            }
        ),
        call!(
            "OrchestratorService",
            orchestrator,
            ask_stream,
            AskStreamRequest {
                question: Some(question(&asked)),
            },
            whole
        ),
        call!("OrchestratorService", orchestrator, list_graphs, ListGraphsRequest {}),
        call!(
            "OrchestratorService",
            orchestrator,
            get_graph,
            GetGraphRequest {
                name: "self-corrective-rag".to_owned(),
            }
        ),
        call!(
            "OrchestratorService",
            orchestrator,
            record_feedback,
            RecordFeedbackRequest {
                feedback: Some(feedback(&asked, &text(limits::MAX_ANSWER_BYTES))),
            }
        ),
    ]
}

fn streamed(
    method: &'static str,
    call: impl Fn() -> BoxFuture<'static, Result<(), Status>> + Send + Sync + 'static,
) -> Large {
    Large {
        method,
        at_once: AT_ONCE_LARGE,
        call: Box::new(call),
    }
}

/// Every RPC, with its largest request.
pub(super) fn all(up: &Up) -> Vec<Large> {
    let mut all = of_grader(up);
    all.extend(of_writers(up));
    all.extend(of_orchestrator(up));
    all.extend(retriever::large(up));
    all
}

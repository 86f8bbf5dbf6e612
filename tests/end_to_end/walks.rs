//! The main job over real sockets: documents in, a question, a graded answer out.

use emend_proto::v1::{
    ChatMessage, IngestStatus, ListGraphsRequest, Question, WalkStatus, chat_message::Role, walk_event::Event,
};
use emend_testkit::http_server::{HttpAnswer, HttpServer};
use emend_tests::{Fixture, question};
use serde_json::json;
use std::fs;

const LIGHTHOUSE: &str = "The Torvik lighthouse was built in 1873 by the engineer Ansgar Lund. It stands on a granite \
    skerry north of the harbour. Its lamp burned whale oil until 1911.";
const BAKERY: &str = "The village bakery sells rye bread on Tuesdays. Its oven is heated with birch wood.";

/// Every graph that comes with the orchestrator, in order of their names.
const GRAPHS: [&str; 8] = [
    "corrective-rag",
    "corrective-rag-binary",
    "plain-rag",
    "self-corrective-rag",
    "self-rag",
    "self-rag-final-grade",
    "self-rag-tutorial",
    "self-reflective-rag",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_with_the_passage_that_says_so() {
    let fixture = Fixture::start().await;
    let stored = fixture
        .ingest("village", &[("lighthouse", LIGHTHOUSE), ("bakery", BAKERY)])
        .await;
    assert!(
        stored.iter().all(|answer| answer.status() == IngestStatus::Ingested),
        "{stored:?}"
    );

    for graph in GRAPHS {
        let asked = question("Who built the Torvik lighthouse in 1873?", graph, "village");
        let (events, result) = fixture.ask_stream(asked).await.expect(graph);
        assert!(result.answer.contains("Ansgar Lund"), "{graph}: {result:?}");
        let sentence = &result.sentences[0];
        let citation = sentence.citations.first().expect("a citation");
        let cited = result.documents[citation.number as usize - 1]
            .passage
            .as_ref()
            .expect("a passage");
        assert_eq!(cited.document_id, "lighthouse", "{graph}");
        let span = citation.span.as_ref().expect("the quoted characters");
        let quoted: String = cited
            .text
            .chars()
            .skip(span.start as usize)
            .take((span.end - span.start) as usize)
            .collect();
        assert_eq!(
            quoted.trim(),
            sentence.text.trim(),
            "{graph}: an extractive answer quotes"
        );

        // The events tell the same story as the result.
        let finished: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.event {
                Some(Event::StepFinished(finished)) => finished.step.clone(),
                _ => None,
            })
            .map(|step| (step.number, step.node, step.outcome))
            .collect();
        let steps: Vec<_> = result
            .steps
            .iter()
            .map(|s| (s.number, s.node.clone(), s.outcome.clone()))
            .collect();
        assert_eq!(finished, steps, "{graph}");
        let written: String = events
            .iter()
            .filter_map(|event| match &event.event {
                Some(Event::TextDelta(delta)) => Some(delta.text.clone()),
                _ => None,
            })
            .collect();
        assert!(written.contains("Ansgar Lund"), "{graph}: the text is streamed");
    }
    fixture.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_nothing_answers_ends_in_an_abstention() {
    let fixture = Fixture::start().await;
    fixture.ingest("village", &[("bakery", BAKERY)]).await;
    for graph in GRAPHS.into_iter().filter(|graph| *graph != "plain-rag") {
        let asked = question("Which comet passes Jupiter's moons?", graph, "village");
        let result = fixture.ask(asked).await.expect(graph);
        assert_eq!(result.status(), WalkStatus::Abstained, "{graph}: {result:?}");
        assert!(!result.reason.is_empty(), "{graph} says why");
    }
    fixture.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_documents_do_not_know_comes_from_the_web_and_is_marked() {
    let web = tempfile::tempdir().unwrap();
    let page = format!("<html><head><title>Torvik</title></head><body><p>{LIGHTHOUSE}</p></body></html>");
    fs::write(web.path().join("torvik.html"), page).unwrap();
    let fixture = Fixture::start_with(emend_cli::cluster::Plan::default(), Some(web.path())).await;
    fixture.ingest("village", &[("bakery", BAKERY)]).await;
    for graph in ["corrective-rag", "corrective-rag-binary", "self-corrective-rag"] {
        let asked = question("Who built the Torvik lighthouse in 1873?", graph, "village");
        let result = fixture.ask(asked).await.expect(graph);
        assert!(
            result.steps.iter().any(|step| step.action == "web_search"),
            "{graph}: {result:?}"
        );
        assert!(result.answer.contains("Ansgar Lund"), "{graph}: {result:?}");
        let citation = result.sentences[0].citations.first().expect("a citation");
        let cited = result.documents[citation.number as usize - 1]
            .passage
            .as_ref()
            .expect("a passage");
        assert_eq!(cited.origin(), emend_proto::v1::Origin::Web, "{graph}");
    }
    fixture.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_search_engine_finds_is_fetched_graded_and_cited() {
    let site = HttpServer::start(|_, request| {
        let answer =
            |kind: &str, body: &str| HttpAnswer::response("200 OK", &format!("content-type: {kind}\r\n"), body);
        if request.head.starts_with("GET /search?") {
            let host = request
                .head
                .lines()
                .find_map(|line| line.strip_prefix("host: "))
                .expect("a host");
            let url = format!("http://{host}/torvik");
            answer(
                "application/json",
                &json!({ "results": [{ "url": url, "title": "Torvik" }] }).to_string(),
            )
        } else {
            answer("text/html", &format!("<title>Torvik</title><p>{LIGHTHOUSE}</p>"))
        }
    })
    .await;
    let port = site.url().rsplit(':').next().expect("a port");
    let flags = [
        "--searxng-url",
        site.url(),
        "--web-allow-networks",
        "127.0.0.1/32",
        "--web-ports",
        port,
    ];
    let fixture = Fixture::with_flags(emend_cli::cluster::Plan::default(), &flags).await;
    fixture.ingest("village", &[("bakery", BAKERY)]).await;
    let result = fixture
        .ask(question(
            "Who built the Torvik lighthouse in 1873?",
            "self-corrective-rag",
            "village",
        ))
        .await
        .unwrap();
    assert!(result.answer.contains("Ansgar Lund"), "{result:?}");
    let cited = result.documents.iter().filter_map(|document| document.passage.as_ref());
    let urls: Vec<&str> = cited.map(|passage| passage.source.as_str()).collect();
    assert!(urls.contains(&format!("{}/torvik", site.url()).as_str()), "{urls:?}");
    fixture.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_document_is_not_stored_again_and_a_changed_one_replaces_the_old() {
    let fixture = Fixture::start().await;
    let first = fixture.ingest("village", &[("bakery", BAKERY)]).await;
    assert_eq!(first[0].status(), IngestStatus::Ingested);
    let again = fixture.ingest("village", &[("bakery", BAKERY)]).await;
    assert_eq!(again[0].status(), IngestStatus::Unchanged);
    let changed = fixture
        .ingest(
            "village",
            &[("bakery", "The bakery closed; a Torvik smithy took its house.")],
        )
        .await;
    assert_eq!(changed[0].status(), IngestStatus::Ingested);
    let result = fixture
        .ask(question("What does the bakery sell?", "plain-rag", "village"))
        .await
        .unwrap();
    assert!(!result.answer.contains("rye bread"), "{}", result.answer);
    fixture.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_graphs_are_listed_with_their_worst_case() {
    let fixture = Fixture::start().await;
    let graphs = fixture
        .orchestrator()
        .list_graphs(ListGraphsRequest {})
        .await
        .unwrap()
        .into_inner()
        .graphs;
    let names: Vec<_> = graphs.iter().map(|graph| graph.name.as_str()).collect();
    assert_eq!(names, GRAPHS);
    let self_rag = graphs.iter().find(|graph| graph.name == "self-rag").unwrap();
    let worst = self_rag.worst_case.as_ref().unwrap();
    assert_eq!((worst.steps, worst.model_calls), (28, 46));
    fixture.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follow_up_is_answered_from_the_conversation_before_it() {
    let fixture = Fixture::start().await;
    fixture
        .ingest("village", &[("lighthouse", LIGHTHOUSE), ("bakery", BAKERY)])
        .await;
    let turn = |role: Role, content: &str| ChatMessage {
        role: role.into(),
        content: content.to_owned(),
    };
    let asked = Question {
        history: vec![
            turn(Role::User, "Where does the Torvik lighthouse stand?"),
            turn(Role::Assistant, "It stands on a granite skerry north of the harbour."),
        ],
        ..question("And who built it?", "self-rag", "village")
    };
    let result = fixture.ask(asked).await.unwrap();
    assert_eq!(result.steps[0].node, "condense");
    assert!(
        result.standalone_question.contains("Torvik"),
        "{}",
        result.standalone_question
    );
    assert!(result.answer.contains("Ansgar Lund"), "{result:?}");
    let message = result.message.expect("the next turn");
    assert_eq!((message.role(), message.content), (Role::Assistant, result.answer));
    fixture.cluster.stop().await;
}

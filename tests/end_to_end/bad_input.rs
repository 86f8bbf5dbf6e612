//! Bad input is a clear error that names the field, and loses nothing.

use std::collections::HashMap;

use emend_cli::cluster::Plan;
use emend_proto::v1::{IngestStatus, RetrieveRequest};
use emend_tests::{Fixture, document, question, violated};
use tonic::Code;

#[tokio::test(flavor = "multi_thread")]
async fn questions_outside_the_limits_name_every_bad_field() {
    let fixture = Fixture::start().await;
    fixture.ingest("known", &[("a", "Some text about lighthouses.")]).await;

    let mut empty = question("  ", "self-rag", "known");
    empty.options.insert("top_k".to_owned(), 0.0);
    empty.options.insert("max_retrys".to_owned(), 1.0);
    let status = fixture.ask(empty).await.unwrap_err();
    let fields = violated(&status);
    assert_eq!(fields.len(), 3, "{fields:?}");
    assert!(fields.iter().any(|field| field.contains("question")), "{fields:?}");
    assert!(fields.iter().any(|field| field.contains("top_k")), "{fields:?}");
    assert!(
        status.message().contains("max_retries"),
        "the nearest known option is named: {}",
        status.message()
    );

    let long = question(&"x".repeat(9 * 1024), "self-rag", "known");
    assert_eq!(violated(&fixture.ask(long).await.unwrap_err()).len(), 1);

    let mut many = question("What?", "self-rag", "known");
    many.options.insert("top_k".to_owned(), 1000.0);
    let status = fixture.ask(many).await.unwrap_err();
    assert!(
        violated(&status)[0].contains("top_k") && status.message().contains("100"),
        "{}",
        status.message()
    );
    fixture.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_names_are_answered_with_the_known_ones() {
    let fixture = Fixture::start().await;
    fixture.ingest("known", &[("a", "Some text about lighthouses.")]).await;
    let status = fixture.ask(question("What?", "self-rga", "known")).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    assert!(status.message().contains("self-rag"), "{}", status.message());
    let status = fixture.ask(question("What?", "self-rag", "unknown")).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    assert!(status.message().contains("known"), "{}", status.message());
    fixture.cluster.stop().await;
}

/// A collection with the longest name, which no other has.
fn long_name(number: usize) -> String {
    format!("{number:03}-{}", "n".repeat(60))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_retriever_refuses_at_length_is_not_answered_from_the_web() {
    let web = tempfile::tempdir().unwrap();
    std::fs::write(
        web.path().join("comet.html"),
        "<title>Comets</title><p>The comet Halvorsen passes the moons of Jupiter every 76 years.</p>",
    )
    .unwrap();
    let fixture = Fixture::start_with(Plan::default(), Some(web.path())).await;
    let documents = (0..150).map(|number| document(&long_name(number), "a", "Some text about lighthouses."));
    let mut stored = fixture
        .retriever()
        .ingest(futures::stream::iter(documents.collect::<Vec<_>>()))
        .await
        .unwrap()
        .into_inner();
    while let Some(answer) = stored.message().await.unwrap() {
        assert_eq!(answer.status(), IngestStatus::Ingested, "{answer:?}");
    }
    let asked = "Which comet passes the moons of Jupiter?";
    // The web does answer it.
    let known = fixture
        .ask(question(asked, "corrective-rag", &long_name(7)))
        .await
        .unwrap();
    assert!(known.answer.contains("Halvorsen"), "{known:?}");
    let overlong: HashMap<String, String> = (0..64)
        .map(|number| (format!("field {number}"), "v".repeat(5000)))
        .collect();
    for graph in ["corrective-rag", "self-corrective-rag", "plain-rag"] {
        let status = fixture.ask(question(asked, graph, "unknown")).await.unwrap_err();
        assert_eq!(status.code(), Code::NotFound, "{graph}: {status:?}");
        let mut filtered = question(asked, graph, &long_name(7));
        filtered.filter = overlong.clone();
        let status = fixture.ask(filtered).await.unwrap_err();
        let fields = violated(&status);
        assert!(
            fields.iter().all(|field| field.contains("filter") || field == "…"),
            "{graph}: {fields:?}"
        );
    }
    // Neither error is longer than the clients of other languages take by default.
    let request = RetrieveRequest {
        query: asked.to_owned(),
        collection: "unknown".to_owned(),
        ..RetrieveRequest::default()
    };
    let missing = fixture.retriever().retrieve(request.clone()).await.unwrap_err();
    assert_eq!(missing.code(), Code::NotFound);
    let filtered = RetrieveRequest {
        collection: long_name(7),
        filter: overlong,
        ..request
    };
    let refused = fixture.retriever().retrieve(filtered).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    for status in [missing, refused] {
        let bytes = status.message().len() + status.details().len();
        assert!(bytes < 8 << 10, "{bytes} bytes: {}", status.message());
    }
    fixture.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_retriever_names_every_bad_field_too() {
    let fixture = Fixture::start().await;
    for top_k in [0, 1000] {
        let request = RetrieveRequest {
            query: " ".to_owned(),
            collection: "no such/name".to_owned(),
            top_k: Some(top_k),
            ..RetrieveRequest::default()
        };
        let status = fixture.retriever().retrieve(request).await.unwrap_err();
        assert_eq!(violated(&status), ["collection", "query", "top_k"]);
    }
    fixture.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_document_is_refused_alone() {
    let fixture = Fixture::start().await;
    let mut pdf = document("mixed", "report.txt", "");
    pdf.document.as_mut().unwrap().content = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj".to_vec();
    let mut drawing = document("mixed", "drawing.txt", "");
    drawing.document.as_mut().unwrap().content = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    let blank = document("mixed", "blank.txt", " \n\t ");
    let good = document("mixed", "good.txt", "The ferry leaves at seven.");
    let requests = vec![pdf, drawing, blank, good];
    let mut stream = fixture
        .retriever()
        .ingest(futures::stream::iter(requests))
        .await
        .unwrap()
        .into_inner();
    let mut answers = Vec::new();
    while let Some(answer) = stream.message().await.unwrap() {
        answers.push(answer);
    }
    answers.sort_by(|a, b| a.document_id.cmp(&b.document_id));
    let outcome: Vec<_> = answers.iter().map(|a| (a.document_id.as_str(), a.status())).collect();
    assert_eq!(
        outcome,
        [
            ("blank.txt", IngestStatus::Failed),
            ("drawing.txt", IngestStatus::Failed),
            ("good.txt", IngestStatus::Ingested),
            ("report.txt", IngestStatus::Failed),
        ]
    );
    assert!(answers[1].error.contains("a PNG file"), "{}", answers[1].error);
    assert!(answers[3].error.to_lowercase().contains("pdf"), "{}", answers[3].error);
    let result = fixture
        .ask(question("When does the ferry leave?", "plain-rag", "mixed"))
        .await
        .unwrap();
    assert!(result.answer.contains("seven"), "{}", result.answer);
    fixture.cluster.stop().await;
}

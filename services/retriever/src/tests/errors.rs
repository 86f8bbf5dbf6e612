use emend_proto::v1::{DeleteDocumentsRequest, GetCollectionRequest, ListCollectionsRequest};
use tonic::Code;
use tonic_types::StatusExt;

use super::*;
use crate::terms::Terms;

#[tokio::test(flavor = "multi_thread")]
async fn wrong_fields_are_all_named_and_limits_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    retriever.store([document("a", "words")]).await;
    let request = RetrieveRequest {
        top_k: Some(1000),
        ef: Some(0),
        ..query(" ")
    };
    let status = retriever.client.retrieve(request).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let details = status.get_error_details();
    let fields: Vec<_> = details
        .bad_request()
        .unwrap()
        .field_violations
        .iter()
        .map(|v| v.field.as_str())
        .collect();
    assert_eq!(fields, ["query", "top_k", "ef"]);
    assert!(
        status.message().contains("top_k: must be 1 to 100, is 1000"),
        "{}",
        status.message()
    );
    for (top_k, ok) in [(0, false), (1, true), (100, true), (101, false)] {
        let answer = retriever
            .client
            .retrieve(RetrieveRequest {
                top_k: Some(top_k),
                ..query("words")
            })
            .await;
        assert_eq!(answer.is_ok(), ok, "{top_k}");
    }
    let longest = "q".repeat(emend_core::limits::MAX_QUESTION_BYTES);
    assert!(retriever.client.retrieve(query(&longest)).await.is_ok());
    assert!(retriever.client.retrieve(query(&format!("{longest}q"))).await.is_err());
    assert!(
        retriever
            .client
            .retrieve(RetrieveRequest {
                ef: Some(4096),
                ..query("words")
            })
            .await
            .is_ok()
    );
    let status = retriever
        .client
        .delete_documents(DeleteDocumentsRequest::default())
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_collection_lists_the_known_ones() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    let status = retriever.client.retrieve(query("words")).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    assert_eq!(
        status.message(),
        "unknown collection \"default\": there are none yet, ingest documents first"
    );
    retriever.store([document("a", "words")]).await;
    let status = retriever
        .client
        .get_collection(GetCollectionRequest {
            collection: "defualt".into(),
        })
        .await
        .unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (Code::NotFound, "unknown collection \"defualt\": known are default")
    );
    // A first document that fails makes no collection.
    let failing = IngestRequest {
        collection: "bad".into(),
        document: Some(document("a", "")),
        ..IngestRequest::default()
    };
    let mut answers = retriever
        .client
        .ingest(tokio_stream::iter([failing]))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(answers.message().await.unwrap().unwrap().status(), IngestStatus::Failed);
    let status = retriever
        .client
        .retrieve(RetrieveRequest {
            collection: "bad".into(),
            ..query("a")
        })
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_embedder_is_refused_with_both_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    retriever.store([document("a", "words")]).await;
    retriever.stop().await;

    let store = EdgeStore::open(folder.path()).unwrap();
    let other = backend::EmbedderInfo {
        id: "other-model".into(),
        dimensions: 3,
    };
    let empty = backend::NewDocument {
        id: "b".into(),
        fingerprint: [0; 32],
        title: String::new(),
        source: String::new(),
        owner: String::new(),
        metadata: Default::default(),
        sections: vec![backend::Section {
            start: 0,
            text: "b".into(),
            headings: Vec::new(),
        }],
        chunks: vec![backend::Chunk {
            section: 0,
            start: 0,
            end: 1,
            embedding: Some([1.0, 0.0, 0.0].into()),
            terms: Terms::default(),
        }],
    };
    let refused = store
        .put("default", &other, empty.clone())
        .await
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("hashed-256 (256 values)") && refused.contains("other-model (3 values)"),
        "{refused}"
    );
    store.put("others", &other, empty).await.unwrap();
    store.close().await;

    let mut retriever = Running::start(folder.path(), &[]).await;
    let others = || "others".to_owned();
    let status = retriever
        .client
        .retrieve(RetrieveRequest {
            collection: others(),
            ..query("b")
        })
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    for part in [
        "\"others\"",
        "other-model",
        "hashed-256",
        "start it with the collection's embedder",
    ] {
        assert!(status.message().contains(part), "{part}: {}", status.message());
    }
    let request = IngestRequest {
        collection: others(),
        document: Some(document("c", "words")),
        ..IngestRequest::default()
    };
    let mut answers = retriever
        .client
        .ingest(tokio_stream::iter([request]))
        .await
        .unwrap()
        .into_inner();
    let acknowledgement = answers.message().await.unwrap().unwrap();
    assert_eq!(acknowledgement.status(), IngestStatus::Failed);
    assert!(
        acknowledgement.error.contains("other-model"),
        "{}",
        acknowledgement.error
    );
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_folder_that_cannot_be_used_keeps_the_service_from_starting() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a-file");
    std::fs::write(&file, "x").unwrap();
    let start = async |path: &Path| {
        let options = Options::parse_from([
            "emend-retriever",
            "--embedder",
            "hashed",
            "--data-dir",
            path.to_str().unwrap(),
        ]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        serve(options, listener, CancellationToken::new())
            .await
            .map_err(|error| emend_core::error_chain(&error))
    };
    let error = start(&file).await.unwrap_err();
    assert!(
        error.contains("a-file cannot be used") && error.contains("--data-dir"),
        "{error}"
    );

    let mut running = Running::start(folder.path(), &[]).await;
    // It says where it is before it answers.
    running
        .client
        .list_collections(ListCollectionsRequest {})
        .await
        .unwrap();
    let error = start(folder.path()).await.unwrap_err();
    assert!(error.contains("is in use by another process"), "{error}");
    assert!(error.contains("give --url http://127.0.0.1:"), "where it is: {error}");
    running.stop().await;
    EdgeStore::open(folder.path()).unwrap();
}

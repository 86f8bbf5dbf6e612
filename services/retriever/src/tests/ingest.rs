use emend_proto::v1::{DeleteDocumentsRequest, ListDocumentsRequest};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_fails_does_not_end_the_stream() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    let acknowledgements = retriever
        .ingest([
            document("1.txt", "good"),
            document("2.pdf", "rubbish"),
            Document {
                id: "3.txt".into(),
                content: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(),
                ..Document::default()
            },
            document("4.txt", " "),
            Document {
                id: "5.txt".into(),
                content: vec![b'a'; (32 << 20) + 1],
                ..Document::default()
            },
            Document {
                metadata: [(String::new(), "x".into())].into(),
                ..document("6.txt", "text")
            },
            document("7.txt", "also good"),
        ])
        .await;
    let states: Vec<_> = acknowledgements
        .iter()
        .map(|a| (a.status(), a.error.as_str()))
        .collect();
    assert_eq!(
        states,
        [
            (IngestStatus::Ingested, ""),
            (
                IngestStatus::Failed,
                "document \"2.pdf\" cannot be read: it is not PDF as its format or extension says: it is text"
            ),
            (
                IngestStatus::Failed,
                format!(
                    "document \"3.txt\" cannot be read: it is a PNG file, which is not read: {}",
                    emend_documents::READABLE
                )
                .as_str()
            ),
            (
                IngestStatus::Failed,
                "document \"4.txt\" cannot be read: it has no text: there is nothing to find in it"
            ),
            (
                IngestStatus::Failed,
                "document \"5.txt\" cannot be read: it is larger than 32 MiB (33 MiB): split it into several documents"
            ),
            (
                IngestStatus::Failed,
                "invalid request: document.metadata[\"\"]: must have a name"
            ),
            (IngestStatus::Ingested, ""),
        ]
    );
    assert_eq!(retriever.retrieve(query("good")).await.len(), 2);
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_stored_by_its_words_alone_until_it_is_ingested_with_its_embeddings() {
    use IngestStatus::{Ingested, Unchanged};
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    let mut client = retriever.client.clone();
    let mut ingest = async |text: &str, words_only| {
        let request = IngestRequest {
            document: Some(document("a", text)),
            words_only,
            ..IngestRequest::default()
        };
        let mut answers = client.ingest(tokio_stream::iter([request])).await.unwrap().into_inner();
        let answer = answers.message().await.unwrap().unwrap();
        assert_eq!(answer.error, "");
        (answer.status(), answer.words_only, answer.passages)
    };
    let dense = RetrieveRequest {
        mode: emend_proto::v1::SearchMode::Dense.into(),
        ..query("the lantern is lit")
    };
    assert_eq!(ingest("the lantern is lit", true).await, (Ingested, true, 1));
    assert_eq!(ingest("the lantern is lit", true).await, (Unchanged, true, 1));
    assert_eq!(retriever.retrieve(query("lantern")).await.len(), 1);
    assert_eq!(retriever.retrieve(dense.clone()).await, []);
    let error = retriever.export("default", "").await.unwrap_err();
    assert_eq!(error.code(), tonic::Code::FailedPrecondition, "{error}");
    assert!(error.message().contains("`a` is stored by its words alone"), "{error}");
    assert_eq!(ingest("the lantern is lit", false).await, (Ingested, false, 1));
    assert_eq!(retriever.retrieve(dense.clone()).await.len(), 1);
    // What is stored with its embeddings keeps them, unless it has changed.
    assert_eq!(ingest("the lantern is lit", true).await, (Unchanged, false, 1));
    assert_eq!(retriever.retrieve(dense.clone()).await.len(), 1);
    assert_eq!(ingest("the lantern is broken", true).await, (Ingested, true, 1));
    assert_eq!(retriever.retrieve(dense).await, []);
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unchanged_is_not_stored_again_and_changed_replaces() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    let states =
        |acknowledgements: Vec<IngestResponse>| acknowledgements.iter().map(IngestResponse::status).collect::<Vec<_>>();
    assert_eq!(
        states(
            retriever
                .ingest([document("a", "old words"), document("b", "more")])
                .await
        ),
        [IngestStatus::Ingested; 2]
    );
    let again = retriever
        .ingest([document("a", "old words"), document("b", "more")])
        .await;
    assert_eq!(again.iter().map(|a| a.passages).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(states(again), [IngestStatus::Unchanged; 2]);
    assert_eq!(
        states(
            retriever
                .ingest([document("a", "new phrases"), document("b", "more")])
                .await
        ),
        [IngestStatus::Ingested, IngestStatus::Unchanged]
    );
    let texts: Vec<_> = retriever
        .retrieve(query("old words"))
        .await
        .into_iter()
        .map(|passage| passage.text)
        .collect();
    assert_eq!(texts.len(), 2);
    assert!(!texts.contains(&"old words".to_owned()), "{texts:?}");
    // A failed replacement leaves what was there.
    assert_eq!(
        states(retriever.ingest([document("a", "\0")]).await),
        [IngestStatus::Failed]
    );
    assert_eq!(retriever.retrieve(query("new phrases")).await[0].text, "new phrases");
    // Another way of cutting is another result.
    retriever.stop().await;
    let mut retriever = Running::start(folder.path(), &["--chunk-tokens", "32"]).await;
    assert_eq!(
        states(retriever.ingest([document("a", "new phrases")]).await),
        [IngestStatus::Ingested]
    );
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_one_id_twice_in_a_stream_the_last_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &["--ingest-in-flight", "8"]).await;
    let versions = (0..20).map(|version| {
        document(
            "same",
            &format!("version number {version}. {}", "word ".repeat(400 - version * 20)),
        )
    });
    let acknowledgements = retriever.ingest(versions).await;
    assert_eq!(acknowledgements.len(), 20);
    let passages = retriever
        .retrieve(RetrieveRequest {
            top_k: Some(100),
            ..query("version number")
        })
        .await;
    assert_eq!(passages.len(), 1);
    assert!(
        passages[0].text.starts_with("version number 19."),
        "{}",
        passages[0].text
    );
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_document_is_acknowledged_before_the_stream_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    let send = |id: &'static str| IngestRequest {
        collection: "live".into(),
        document: Some(document(id, "words")),
        ..IngestRequest::default()
    };
    sender.send(send("first")).await.unwrap();
    let mut answers = retriever
        .client
        .ingest(ReceiverStream::new(receiver))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(answers.next().await.unwrap().unwrap().document_id, "first");
    // Acknowledged is stored: it is found while the stream is still open.
    let live = || RetrieveRequest {
        collection: "live".into(),
        ..query("words")
    };
    assert_eq!(retriever.retrieve(live()).await.len(), 1);
    sender.send(send("second")).await.unwrap();
    assert_eq!(answers.next().await.unwrap().unwrap().document_id, "second");
    sender.send(IngestRequest::default()).await.unwrap();
    let empty = answers.next().await.unwrap().unwrap();
    assert_eq!(
        (empty.status(), empty.error.as_str()),
        (IngestStatus::Failed, "the message has no document")
    );
    drop(sender);
    assert!(answers.next().await.is_none());
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_open_does_not_keep_the_service_from_stopping() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    sender
        .send(IngestRequest {
            collection: String::new(),
            document: Some(document("a", "words")),
            ..IngestRequest::default()
        })
        .await
        .unwrap();
    let mut answers = retriever
        .client
        .ingest(ReceiverStream::new(receiver))
        .await
        .unwrap()
        .into_inner();
    assert!(answers.next().await.unwrap().is_ok());
    retriever.shutdown.cancel();
    let status = answers.next().await.unwrap().unwrap_err();
    assert_eq!(status.code(), tonic::Code::Unavailable);
    drop(sender);
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_listed_in_pages_that_stay_right_while_some_go() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    retriever
        .store(["e", "a", "d", "b", "c"].map(|id| document(id, "A lamp burns in the window.")))
        .await;
    let mut listed = Vec::new();
    let mut request = ListDocumentsRequest {
        page_size: Some(2),
        ..ListDocumentsRequest::default()
    };
    loop {
        let page = retriever
            .client
            .list_documents(request.clone())
            .await
            .unwrap()
            .into_inner();
        assert!(page.documents.len() <= 2);
        listed.extend(page.documents.into_iter().map(|document| document.id));
        if listed.len() == 2 {
            let gone = DeleteDocumentsRequest {
                document_ids: vec!["a".into()],
                ..DeleteDocumentsRequest::default()
            };
            retriever.client.delete_documents(gone).await.unwrap();
        }
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert_eq!(listed, ["a", "b", "c", "d", "e"]);
    let wrong = ListDocumentsRequest {
        page_size: Some(0),
        ..ListDocumentsRequest::default()
    };
    assert!(
        retriever
            .client
            .list_documents(wrong)
            .await
            .unwrap_err()
            .message()
            .contains("page_size")
    );
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_documents_are_gone_and_unknown_ones_are_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    retriever
        .store(["a", "b", "c"].map(|id| document(id, "the same words")))
        .await;
    let request = DeleteDocumentsRequest {
        document_ids: vec!["a".into(), "x".into(), "c".into()],
        ..Default::default()
    };
    let deleted = retriever
        .client
        .delete_documents(request.clone())
        .await
        .unwrap()
        .into_inner()
        .deleted;
    assert_eq!(deleted, 2);
    let left: Vec<_> = retriever
        .retrieve(query("words"))
        .await
        .into_iter()
        .map(|p| p.document_id)
        .collect();
    assert_eq!(left, ["b"]);
    assert_eq!(
        retriever
            .client
            .delete_documents(request)
            .await
            .unwrap()
            .into_inner()
            .deleted,
        0
    );
    retriever.store([document("a", "the same words as ever")]).await;
    assert_eq!(retriever.retrieve(query("words")).await.len(), 2);
    retriever.stop().await;
}

/// Takes seconds to cut and embed.
fn large() -> Document {
    document(
        "large",
        &"The keeper counted the ships that passed and wrote their names down. ".repeat(150_000),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn work_stops_when_the_sender_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &["--ingest-in-flight", "1"]).await;
    let (sender, receiver) = tokio::sync::mpsc::channel(2);
    for document in [document("small", "words"), large()] {
        sender
            .send(IngestRequest {
                collection: String::new(),
                document: Some(document),
                ..IngestRequest::default()
            })
            .await
            .unwrap();
    }
    let mut answers = retriever
        .client
        .ingest(ReceiverStream::new(receiver))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(answers.next().await.unwrap().unwrap().document_id, "small");
    // Time for the large one to arrive; it is cut and embedded for longer. Too short would only test less.
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    drop((answers, sender));
    // One document at a time: this one would have to wait until the large one is stored.
    retriever.store([document("after", "words")]).await;
    let request = ListDocumentsRequest::default();
    let listed = retriever
        .client
        .list_documents(request)
        .await
        .unwrap()
        .into_inner()
        .documents;
    assert_eq!(
        listed.iter().map(|document| document.id.as_str()).collect::<Vec<_>>(),
        ["after", "small"]
    );
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_senders_deadline_ends_the_stream() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    let message = IngestRequest {
        collection: String::new(),
        document: Some(large()),
        ..IngestRequest::default()
    };
    let mut request = tonic::Request::new(tokio_stream::iter([message]));
    request.set_timeout(std::time::Duration::from_millis(500));
    // Where the deadline passes while the document is still on its way, the call itself fails.
    let status = match retriever.client.ingest(request).await {
        Ok(answers) => answers.into_inner().next().await.unwrap().unwrap_err(),
        Err(status) => status,
    };
    assert!(
        matches!(status.code(), tonic::Code::DeadlineExceeded | tonic::Code::Cancelled),
        "{status:?}"
    );
    retriever.stop().await;
}

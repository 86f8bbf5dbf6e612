//! `kill -9` in the middle of an ingest: every acknowledged document is there afterwards, and each one whole.

use std::{collections::BTreeMap, process::Command};

use emend_proto::v1::{
    Document, GetCollectionRequest, IngestRequest, IngestStatus, ListDocumentsRequest, RetrieveRequest,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::{RETRIEVER, start};

const COLLECTION: &str = "crash";

/// Documents of several chunks.
const SMALL_CHUNKS: [&str; 2] = ["--chunk-tokens", "16"];

/// A document of several chunks whose every sentence names it.
fn document(number: usize) -> Document {
    let sentence = format!("Report {number} describes the lantern of tower {number} in some detail. ");
    Document {
        id: format!("report-{number:04}"),
        content: sentence.repeat(8).into_bytes(),
        ..Document::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives() {
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged: BTreeMap<String, u32> = BTreeMap::new();
    for round in 0..3 {
        let (mut child, mut client) = start(Command::new(RETRIEVER), folder.path(), &SMALL_CHUNKS);
        let (sender, receiver) = mpsc::channel(4);
        let sending = tokio::spawn(async move {
            for number in round * 1000..(round + 1) * 1000 {
                let request = IngestRequest {
                    collection: COLLECTION.to_owned(),
                    document: Some(document(number)),
                };
                if sender.send(request).await.is_err() {
                    return;
                }
            }
        });
        let mut answers = client.ingest(ReceiverStream::new(receiver)).await.unwrap().into_inner();
        let mut now = 0;
        while let Ok(Some(answer)) = answers.message().await {
            assert_eq!(answer.status(), IngestStatus::Ingested, "{}", answer.error);
            acknowledged.insert(answer.document_id, answer.passages);
            now += 1;
            if now == 25 {
                // SIGKILL; the stream is still full.
                child.kill().unwrap();
            }
        }
        assert!(
            (25..1000).contains(&now),
            "{now} were acknowledged: the kill came too late"
        );
        child.wait().unwrap();
        sending.await.unwrap();
    }

    let (mut child, mut client) = start(Command::new(RETRIEVER), folder.path(), &SMALL_CHUNKS);
    let request = ListDocumentsRequest {
        collection: COLLECTION.to_owned(),
        page_size: Some(10_000),
        ..ListDocumentsRequest::default()
    };
    let listed = client.list_documents(request).await.unwrap().into_inner().documents;
    let stored: BTreeMap<_, _> = listed
        .into_iter()
        .map(|document| (document.id, document.passages))
        .collect();
    for (id, passages) in &acknowledged {
        assert_eq!(stored.get(id), Some(passages), "{id} was acknowledged");
    }
    // Whole: the counts agree, and what is found is the document's own text.
    let get = GetCollectionRequest {
        collection: COLLECTION.to_owned(),
    };
    let collection = client
        .get_collection(get)
        .await
        .unwrap()
        .into_inner()
        .collection
        .unwrap();
    assert_eq!(collection.documents, stored.len() as u64);
    assert_eq!(
        collection.passages,
        stored.values().map(|passages| u64::from(*passages)).sum::<u64>()
    );
    for id in acknowledged.keys() {
        let number: usize = id.trim_start_matches("report-").parse().unwrap();
        let request = RetrieveRequest {
            query: format!("Report {number} describes the lantern of tower {number} in some detail."),
            collection: COLLECTION.to_owned(),
            top_k: Some(10),
            ..RetrieveRequest::default()
        };
        let passages = client.retrieve(request).await.unwrap().into_inner().passages;
        let found = passages.iter().find(|passage| passage.document_id == *id);
        let found = found.unwrap_or_else(|| panic!("{id} is not found: {passages:?}"));
        assert_eq!(
            found.text.matches(&format!("Report {number} ")).count(),
            8,
            "{id} is whole"
        );
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

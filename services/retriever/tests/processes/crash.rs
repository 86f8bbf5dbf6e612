//! `kill -9` in the middle of an ingest, and of replacements and removals: what was acknowledged is so afterwards, and each
//! document is whole.

use std::{collections::BTreeMap, process::Command};

use emend_chassis::TracedChannel;
use emend_proto::v1::{
    DeleteDocumentsRequest, Document, GetCollectionRequest, GetDocumentRequest, IngestRequest, IngestStatus,
    ListDocumentsRequest, RetrieveRequest, retriever_service_client::RetrieverServiceClient,
};
use tokio::{sync::mpsc, task::JoinSet};
use tokio_stream::wrappers::ReceiverStream;

use crate::{RETRIEVER, start};

type Client = RetrieverServiceClient<TracedChannel>;

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
                    ..IngestRequest::default()
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

/// Documents that a round replaces, and others that it removes.
const REPLACED: usize = 60;
const REMOVED: usize = 20;

/// Replacements that are acknowledged before the process is killed. With each of the first half of them a document is
/// removed; as many are being removed when it is killed, but in the first round.
const ACKNOWLEDGED: usize = 20;

fn sentence(number: usize, edition: usize) -> String {
    format!("Report {number} in edition {edition} describes the lantern of tower {number} in some detail. ")
}

fn id(number: usize) -> String {
    format!("report-{number:04}")
}

fn edition(number: usize, edition: usize) -> IngestRequest {
    IngestRequest {
        collection: COLLECTION.to_owned(),
        document: Some(Document {
            id: id(number),
            content: sentence(number, edition).repeat(8).into_bytes(),
            ..Document::default()
        }),
        ..IngestRequest::default()
    }
}

/// Removes a document. Says whether that was acknowledged.
async fn remove(mut client: Client, number: usize) -> (usize, bool) {
    let request = DeleteDocumentsRequest {
        collection: COLLECTION.to_owned(),
        document_ids: vec![id(number)],
    };
    (number, client.delete_documents(request).await.is_ok())
}

/// The edition of a document that is there, which is read and found whole; `None` if it is gone.
async fn seen(client: &mut Client, number: usize, editions: usize) -> Option<usize> {
    let get = GetDocumentRequest {
        collection: COLLECTION.to_owned(),
        document_id: id(number),
        ..GetDocumentRequest::default()
    };
    let read = match client.get_document(get).await {
        Ok(read) => Some(read.into_inner()),
        Err(error) => {
            assert_eq!(error.code(), tonic::Code::NotFound, "{error:?}");
            None
        }
    };
    let text: Option<String> = read.map(|read| read.passages.iter().map(|passage| passage.text.as_str()).collect());
    let edition = text.and_then(|text| {
        let mut known = 0..editions;
        let edition = known.find(|edition| text.trim_end() == sentence(number, *edition).repeat(8).trim_end());
        assert!(edition.is_some(), "{number} is no edition: {text}");
        edition
    });
    let request = RetrieveRequest {
        query: sentence(number, edition.unwrap_or_default()),
        collection: COLLECTION.to_owned(),
        top_k: Some(10),
        ..RetrieveRequest::default()
    };
    let found = client.retrieve(request).await.unwrap().into_inner().passages;
    let found: Vec<_> = found
        .iter()
        .filter(|passage| passage.document_id == id(number))
        .collect();
    assert_eq!(found.len(), usize::from(edition.is_some()), "{number}: {found:?}");
    if let Some(edition) = edition {
        assert_eq!(
            found[0].text.matches(sentence(number, edition).trim_end()).count(),
            8,
            "{found:?}"
        );
    }
    edition
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_replaced_or_removed_is_so_and_the_rest_is_old_or_new() {
    const ROUNDS: usize = 3;
    let folder = tempfile::tempdir().unwrap();
    let all = ROUNDS * (REPLACED + REMOVED);
    // What a document may be: its editions, or gone.
    let mut states: Vec<Vec<Option<usize>>> = vec![vec![Some(0)]; all];
    let (mut child, mut client) = start(Command::new(RETRIEVER), folder.path(), &SMALL_CHUNKS);
    let requests: Vec<_> = (0..all).map(|number| edition(number, 0)).collect();
    let mut answers = client.ingest(tokio_stream::iter(requests)).await.unwrap().into_inner();
    while let Some(answer) = answers.message().await.unwrap() {
        assert_eq!(answer.status(), IngestStatus::Ingested, "{}", answer.error);
    }
    for round in 0..ROUNDS {
        let first = round * (REPLACED + REMOVED);
        let new = round + 1;
        // A few at a time are on their way.
        let mut to_replace = first..first + REPLACED;
        let (sender, receiver) = mpsc::channel(REPLACED);
        for number in to_replace.by_ref().take(4) {
            sender.send(edition(number, new)).await.unwrap();
        }
        for states in &mut states[first..first + REPLACED] {
            states.push(Some(new));
        }
        let mut to_remove = first + REPLACED..first + REPLACED + REMOVED;
        let mut removing = JoinSet::new();
        let mut answers = client.ingest(ReceiverStream::new(receiver)).await.unwrap().into_inner();
        let mut acknowledged = 0;
        while let Ok(Some(answer)) = answers.message().await {
            assert_eq!(answer.status(), IngestStatus::Ingested, "{}", answer.error);
            let number: usize = answer.document_id.trim_start_matches("report-").parse().unwrap();
            states[number] = vec![Some(new)];
            acknowledged += 1;
            // Nobody takes it once the process is killed.
            if let Some(number) = to_replace.next() {
                drop(sender.send(edition(number, new)).await);
            }
            if acknowledged <= REMOVED / 2 {
                let (number, removed) = remove(client.clone(), to_remove.next().unwrap()).await;
                assert!(removed, "{number}");
                states[number] = vec![None];
            }
            if acknowledged == ACKNOWLEDGED {
                // In the first round a removal does not come to the help of the replacements before it.
                for number in to_remove.by_ref().filter(|_| round > 0) {
                    states[number].push(None);
                    removing.spawn(remove(client.clone(), number));
                }
                // SIGKILL; others are being replaced and removed.
                tokio::task::yield_now().await;
                child.kill().unwrap();
            }
        }
        assert!(
            (ACKNOWLEDGED..REPLACED).contains(&acknowledged),
            "{acknowledged}: killed too late"
        );
        for (number, removed) in removing.join_all().await {
            if removed {
                states[number] = vec![None];
            }
        }
        child.wait().unwrap();

        (child, client) = start(Command::new(RETRIEVER), folder.path(), &SMALL_CHUNKS);
        let last = round + 1 == ROUNDS;
        let mut uncertain = 0;
        for number in if last {
            0..all
        } else {
            first..first + REPLACED + REMOVED
        } {
            let now = seen(&mut client, number, new + 1).await;
            let states = &mut states[number];
            assert!(states.contains(&now), "{number}: {now:?} of {states:?}");
            uncertain += usize::from(states.len() > 1);
            *states = vec![now];
        }
        assert!(uncertain > 0, "nothing was under way");
        let documents = states.iter().filter(|states| states[0].is_some()).count();
        let get = GetCollectionRequest {
            collection: COLLECTION.to_owned(),
        };
        let described = client
            .get_collection(get)
            .await
            .unwrap()
            .into_inner()
            .collection
            .unwrap();
        assert_eq!(described.documents, documents as u64);
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

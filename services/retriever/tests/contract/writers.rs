//! Several writers and readers of one document at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use emend_retriever::backend::{StoreError, Unit, VectorStore};

use crate::subject::{AT_ONCE, Qdrant, Subject, dense, document, embedder};

/// Chunks of a version, each a section of its own.
const CHUNKS: u64 = 6;

/// The version of a document with this number. All versions have the same vectors; texts and source name the version.
fn version(number: u64) -> emend_retriever::backend::NewDocument {
    let texts: Vec<String> = (0..CHUNKS)
        .map(|chunk| format!("version{number} chunk{chunk}"))
        .collect();
    let sections: Vec<(&str, u32)> = texts.iter().map(|text| (text.as_str(), 1)).collect();
    let mut document = document("shared", 1, &sections);
    document.fingerprint[31] = number as u8;
    document.source = format!("version{number}");
    document
}

/// Searches for everything and checks that one version is seen, complete. Returns it.
async fn seen(store: &dyn VectorStore) -> String {
    let hits = store.search("notes", dense(3, 50, Unit::Chunk)).await.unwrap();
    let source = hits.first().map(|hit| hit.source.clone()).unwrap_or_default();
    for hit in &hits {
        assert!(hit.text.starts_with(&format!("{source} ")), "{source}: {}", hit.text);
    }
    assert_eq!(hits.len() as u64, CHUNKS, "{hits:?}");
    source
}

pub(crate) async fn two_writers_of_one_document_leave_one_version(subject: &Subject) {
    let stores = [Arc::clone(&subject.store), subject.another()];
    for round in 0..8 {
        let [first, second] = &stores;
        let (one, two) = (version(round * 2), version(round * 2 + 1));
        let embedder = embedder();
        let (one, two) = tokio::join!(first.put("notes", &embedder, one), second.put("notes", &embedder, two));
        one.unwrap();
        two.unwrap();
        for store in &stores {
            let source = seen(&**store).await;
            let number: u64 = source.trim_start_matches("version").parse().unwrap();
            assert_eq!(number / 2, round, "{source}");
            let read = store.read("notes", "shared").await.unwrap().unwrap();
            assert_eq!((read.source, read.chunks.len() as u64), (source, CHUNKS));
            let counted = store.collection("notes").await.unwrap();
            assert_eq!((counted.documents, counted.passages), (1, CHUNKS));
        }
    }
}

pub(crate) async fn readers_see_one_version_or_the_other(subject: &Subject) {
    subject.store.put("notes", &embedder(), version(0)).await.unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (store, done) = (subject.another(), Arc::clone(&done));
            tokio::spawn(async move {
                let (mut searches, mut last) = (0, 0);
                while !done.load(Ordering::SeqCst) || searches < 2 {
                    let source = seen(&*store).await;
                    let number: u64 = source.trim_start_matches("version").parse().unwrap();
                    assert!(number >= last, "{number} after {last}");
                    (searches, last) = (searches + 1, number);
                }
                last
            })
        })
        .collect();
    let writing = subject.another();
    for number in 1..25 {
        writing.put("notes", &embedder(), version(number)).await.unwrap();
        // Who has written sees it.
        assert_eq!(seen(&*writing).await, format!("version{number}"));
    }
    done.store(true, Ordering::SeqCst);
    for reader in readers {
        reader.await.unwrap();
    }
}

/// Writers who take each other for dead, which is the worst that clocks can do.
#[tokio::test(flavor = "multi_thread")]
async fn writers_who_take_each_other_for_dead_leave_no_half() {
    let server = Qdrant::start().await;
    let stores: Vec<_> = (0..4).map(|_| server.store(AT_ONCE)).collect();
    stores[0].put("notes", &embedder(), version(0)).await.unwrap();
    for round in 1..6 {
        let embedder = embedder();
        let writes = stores
            .iter()
            .zip(0..)
            .map(|(store, writer)| store.put("notes", &embedder, version(round * 10 + writer)));
        for written in futures::future::join_all(writes).await {
            match written {
                Ok(()) | Err(StoreError::Contended { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        seen(&stores[0]).await;
        let read = stores[1].read("notes", "shared").await.unwrap().unwrap();
        assert_eq!(read.chunks.len() as u64, CHUNKS);
    }
    // Whatever they left is removed: a record, the sections and the passages are there.
    stores[0].repair("notes").await.unwrap();
    stores[0].repair("notes").await.unwrap();
    seen(&stores[0]).await;
    if let Some(points) = server.points("notes") {
        assert_eq!(points as u64, 1 + 2 * CHUNKS);
    }
    stores[0].delete_collection("notes").await.unwrap();
}

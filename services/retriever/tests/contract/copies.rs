//! Copies that take a collection's place.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use emend_retriever::backend::{EmbedderInfo, Query, Search, StoreError, Unit, VectorStore};

use crate::subject::{Subject, dense, document, embedder, vector_of};

/// Documents of a copy.
const DOCUMENTS: u64 = 3;

fn other() -> EmbedderInfo {
    EmbedderInfo {
        id: "another".to_owned(),
        dimensions: 2,
    }
}

/// Fills a draft with documents whose texts say which copy it is.
async fn fill(store: &dyn VectorStore, draft: &str, made_by: &EmbedderInfo, copy: &str) {
    for number in 0..DOCUMENTS {
        let mut new = document(&format!("d{number}"), number, &[(&format!("{copy} {number}"), 1)]);
        copy.clone_into(&mut new.title);
        new.chunks[0].embedding = Some(vector_of(number, made_by.dimensions));
        store.put(draft, made_by, new).await.unwrap();
    }
}

/// The titles of all documents.
async fn titles(store: &dyn VectorStore, name: &str, dimensions: usize) -> Result<Vec<String>, StoreError> {
    let search = Search {
        query: Query::Dense(vector_of(1, dimensions)),
        ..dense(1, 10, Unit::Section)
    };
    let hits = store.search(name, search).await?;
    Ok(hits.into_iter().map(|hit| hit.title).collect())
}

async fn names(store: &dyn VectorStore) -> Vec<String> {
    let collections = store.collections().await.unwrap();
    collections.into_iter().map(|collection| collection.name).collect()
}

pub(crate) async fn a_copy_is_not_seen_until_it_takes_its_place(subject: &Subject) {
    let store = &*subject.store;
    fill(store, "notes", &embedder(), "notes").await;
    let draft = store.draft("copy").await.unwrap();
    assert!(matches!(
        store.publish(&draft, "copy").await.unwrap_err(),
        StoreError::UnknownCollection { .. }
    ));
    fill(store, &draft, &other(), "first").await;
    // It is found again, and by nobody else.
    assert_eq!(subject.another().draft("copy").await.unwrap(), draft);
    assert_eq!(names(store).await, ["notes"]);
    let unknown = titles(store, "copy", 2).await.unwrap_err();
    assert!(matches!(&unknown, StoreError::UnknownCollection { name, known } if name == "copy" && *known == ["notes"]));

    store.publish(&draft, "copy").await.unwrap();
    assert_eq!(names(store).await, ["copy", "notes"]);
    assert_eq!(store.embedder("copy").await.unwrap(), other());
    assert_eq!(titles(store, "copy", 2).await.unwrap(), ["first"; 3]);
    let info = store.collection("copy").await.unwrap();
    assert_eq!((info.name.as_str(), info.documents), ("copy", DOCUMENTS));
    // It is a collection like any other.
    assert_eq!(store.delete("copy", vec!["d0".to_owned()]).await.unwrap(), 1);
    let added = document("d9", 9, &[("more", 1)]);
    let refused = store.put("copy", &embedder(), added).await.unwrap_err();
    assert!(matches!(refused, StoreError::OtherEmbedder { collection, .. } if collection == "copy"));

    // Another one, with another embedder.
    let next = store.draft("copy").await.unwrap();
    fill(store, &next, &embedder(), "second").await;
    assert_eq!(titles(store, "copy", 2).await.unwrap(), ["first"; 2]);
    store.publish(&next, "copy").await.unwrap();
    assert_eq!(store.embedder("copy").await.unwrap(), embedder());
    assert_eq!(
        titles(store, "copy", embedder().dimensions).await.unwrap(),
        ["second"; 3]
    );

    // What was never published goes with its collection.
    let left = store.draft("copy").await.unwrap();
    fill(store, &left, &other(), "third").await;
    assert_eq!(store.delete_collection("copy").await.unwrap(), DOCUMENTS);
    assert!(store.embedder(&left).await.is_err());
    assert_eq!(names(store).await, ["notes"]);

    // In the place of one that no copy made, where the store can do that.
    match store.draft("notes").await {
        Ok(draft) => {
            fill(store, &draft, &other(), "fourth").await;
            store.publish(&draft, "notes").await.unwrap();
            assert_eq!(titles(store, "notes", 2).await.unwrap(), ["fourth"; 3]);
        }
        Err(error) => assert!(matches!(error, StoreError::Occupied { .. }), "{error}"),
    }
}

pub(crate) async fn readers_see_a_copy_or_what_was_before(subject: &Subject) {
    let store = &*subject.store;
    let copy = async |number: u64| {
        let draft = store.draft("copy").await.unwrap();
        fill(store, &draft, &embedder(), &number.to_string()).await;
        store.publish(&draft, "copy").await.unwrap();
    };
    copy(0).await;
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (store, done) = (subject.another(), Arc::clone(&done));
            tokio::spawn(async move {
                let (mut searches, mut last) = (0, 0);
                while !done.load(Ordering::SeqCst) || searches < 2 {
                    let titles = titles(&*store, "copy", embedder().dimensions).await.unwrap();
                    assert!(titles.iter().all(|title| *title == titles[0]), "{titles:?}");
                    let number: u64 = titles[0].parse().unwrap();
                    assert!(
                        titles.len() as u64 == DOCUMENTS && number >= last,
                        "{titles:?} after {last}"
                    );
                    let read = store.read("copy", "d1").await.unwrap().unwrap();
                    assert!(read.title.parse::<u64>().unwrap() >= number);
                    (searches, last) = (searches + 1, number);
                }
            })
        })
        .collect();
    for number in 1..8 {
        copy(number).await;
    }
    done.store(true, Ordering::SeqCst);
    for reader in readers {
        reader.await.unwrap();
    }
}

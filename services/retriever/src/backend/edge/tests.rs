//! Tests of the store: replacement with concurrent readers, damage, and recovery.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::index::{Index, Point};
use super::*;
use crate::backend::{Chunk, Query, Section, Unit};
use crate::terms::Terms;

mod many;

const NAME: &str = "notes";

fn embedder(dimensions: usize) -> EmbedderInfo {
    EmbedderInfo {
        id: "fixed".to_owned(),
        dimensions,
    }
}

/// A unit vector that depends only on `seed`.
fn vector(seed: u64, dimensions: usize) -> Arc<[f32]> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let values: Vec<f32> = (0..dimensions)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1 << 24) as f32 - 0.5
        })
        .collect();
    let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    values.iter().map(|value| value / norm).collect()
}

/// A document of one section with `chunks` chunks, the first at `vector(seed)`.
fn document(id: &str, text: &str, seed: u64, chunks: u32, dimensions: usize) -> NewDocument {
    let end = u32::try_from(text.chars().count()).unwrap();
    NewDocument {
        id: id.to_owned(),
        fingerprint: [0; 32],
        title: String::new(),
        source: id.to_owned(),
        owner: String::new(),
        metadata: BTreeMap::new(),
        sections: vec![Section {
            start: 0,
            text: text.to_owned(),
            headings: vec!["Above".to_owned()],
        }],
        chunks: (0..chunks)
            .map(|chunk| Chunk {
                section: 0,
                start: 0,
                end,
                embedding: Some(vector(seed + u64::from(chunk) * 7919, dimensions)),
                terms: Terms::of_passage(text),
            })
            .collect(),
    }
}

fn search(seed: u64, dimensions: usize, limit: usize) -> Search {
    Search {
        query: Query::Dense(vector(seed, dimensions)),
        limit,
        unit: Unit::Section,
        filter: Vec::new(),
        language: None,
        ef: None,
        exact: false,
    }
}

fn collection_in(folder: &Path) -> Collection {
    Collection::new(NAME, folder.join(NAME), Arc::default())
}

/// Stores documents `0..count` with four dimensions and closes the store.
fn filled(folder: &Path, count: u64) {
    let collection = collection_in(folder);
    for seed in 0..count {
        collection
            .put(
                &embedder(4),
                &document(&format!("d{seed}"), &format!("text {seed}"), seed, 3, 4),
            )
            .unwrap();
    }
    collection.close();
}

/// Checks that every document is found completely and once.
fn check(folder: &Path, count: u64) {
    let collection = collection_in(folder);
    let info = collection.info().unwrap().unwrap();
    assert_eq!((info.documents, info.passages), (count, count * 3));
    let found = collection.search(&search(1, 4, 100)).unwrap();
    assert_eq!(found.len() as u64, count);
    for seed in 0..count {
        let best = &collection.search(&search(seed, 4, 1)).unwrap()[0];
        assert!(best.score > 0.999, "d{seed}: {best:?}");
    }
    collection.close();
    assert_eq!(points(folder).len() as u64, count * 3);
}

fn index(folder: &Path) -> Index {
    Index::open(&folder.join(NAME).join("index"), 4).unwrap()
}

fn points(folder: &Path) -> Vec<Point> {
    index(folder).points().unwrap()
}

#[test]
fn orphaned_points_are_removed_and_missing_points_restored() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), 10);
    let stored = points(folder.path());
    let index = index(folder.path());
    // The state after a crash between the index and the catalog, and after a power cut that lost the index.
    let (orphan, words) = (vector(1, 4), Terms::of_passage("orphan"));
    index
        .insert(
            9_999,
            &BTreeMap::new(),
            (0..5).map(|chunk| (chunk, Some(&*orphan), &words)),
        )
        .unwrap();
    index
        .insert(
            stored[0].version,
            &BTreeMap::new(),
            [(77, Some(&*orphan), &words)].into_iter(),
        )
        .unwrap();
    index.remove(stored.iter().copied().step_by(2)).unwrap();
    drop(index);
    let collection = collection_in(folder.path());
    let expected = Repaired {
        removed: 5 + 1,
        restored: 15,
        incomplete: Vec::new(),
    };
    assert_eq!(collection.repair().unwrap(), expected);
    assert_eq!(collection.repair().unwrap(), Repaired::default());
    collection.close();
    check(folder.path(), 10);
}

#[test]
fn points_that_are_lost_are_restored_when_the_collection_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), 10);
    let stored = points(folder.path());
    index(folder.path()).remove(stored.iter().copied().step_by(3)).unwrap();
    check(folder.path(), 10);
}

#[test]
fn what_is_done_to_a_removed_collection_says_that_it_was_removed() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), 1);
    let collection = collection_in(folder.path());
    assert_eq!(collection.search(&search(1, 4, 1)).unwrap().len(), 1);
    let aside = folder.path().join(".removed-notes");
    collection.retire(&aside, || Ok(())).unwrap();
    for error in [
        collection
            .put(&embedder(4), &document("d", "text", 1, 1, 4))
            .unwrap_err(),
        collection.delete(&["d0".to_owned()]).unwrap_err(),
        collection.search(&search(1, 4, 1)).unwrap_err(),
        collection.documents("", 10).unwrap_err(),
        collection.repair().unwrap_err(),
        collection.retire(&aside, || Ok(())).unwrap_err(),
    ] {
        assert!(
            matches!(&error, StoreError::Removed { name } if name == NAME),
            "{error:?}"
        );
    }
    assert!(!folder.path().join(NAME).exists(), "nothing makes it again");
}

#[test]
fn a_lost_or_damaged_index_is_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), 10);
    let index = folder.path().join(NAME).join("index");
    fs::remove_dir_all(&index).unwrap();
    check(folder.path(), 10);

    fs::write(index.join("edge_config.json"), "{").unwrap();
    check(folder.path(), 10);

    let mut damaged = 0;
    for segment in fs::read_dir(index.join("segments")).unwrap() {
        let segment = segment.unwrap().path();
        for file in fs::read_dir(&segment)
            .unwrap()
            .map(|file| file.unwrap().path())
            .filter(|path| path.is_file())
        {
            fs::write(file, "rubbish").unwrap();
            damaged += 1;
        }
    }
    assert!(damaged > 0);
    check(folder.path(), 10);
}

#[test]
fn readers_always_find_a_document_while_it_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let collection = collection_in(folder.path());
    let put = |round: u32| {
        let text = format!("round {round}");
        collection
            .put(&embedder(4), &document("same", &text, 5, 1 + round % 3, 4))
            .unwrap();
    };
    put(0);
    let done = AtomicBool::new(false);
    let searches = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut searches = 0;
                    while !done.load(Ordering::Relaxed) {
                        let found = collection.search(&search(5, 4, 3)).unwrap();
                        assert_eq!(found.len(), 1, "neither or both versions: {found:?}");
                        assert!(
                            found[0].text.starts_with("round ") && found[0].score > 0.999,
                            "{found:?}"
                        );
                        searches += 1;
                    }
                    searches
                })
            })
            .collect();
        (1..60).for_each(put);
        done.store(true, Ordering::Relaxed);
        readers.into_iter().map(|reader| reader.join().unwrap()).sum::<u32>()
    });
    assert!(searches > 10, "only {searches} searches: nothing was tested");
    collection.close();
    assert_eq!(points(folder.path()).len(), 1 + 59 % 3);
}

#[test]
fn the_log_of_the_engine_shrinks_when_the_index_is_opened_and_writes_go_on() {
    const DIMENSIONS: usize = 2048;
    let folder = tempfile::tempdir().unwrap();
    let index_folder = folder.path().join(NAME).join("index");
    let collection = collection_in(folder.path());
    let put = |id: &str, seed| {
        collection
            .put(&embedder(DIMENSIONS), &document(id, id, seed, 400, DIMENSIONS))
            .unwrap()
    };
    for seed in 0..9 {
        put(&format!("d{seed}"), seed);
    }
    let before = index::log_bytes(&index_folder);
    collection.close();
    assert_eq!(collection.search(&search(1, DIMENSIONS, 1)).unwrap().len(), 1);
    let after = index::log_bytes(&index_folder);
    assert!(
        after < before && after <= 24 << 20,
        "{before} bytes before, {after} after"
    );
    // Operation numbers continue from the log. If they restarted, these operations would be taken for old ones.
    put("d3", 100);
    put("new", 200);
    assert_eq!(collection.delete(&["d4".to_owned()]).unwrap().0, 1);
    let best = |seed| collection.search(&search(seed, DIMENSIONS, 1)).unwrap().remove(0);
    assert_eq!(
        (best(100).document.as_str(), best(200).document.as_str()),
        ("d3", "new")
    );
    assert!(
        best(3).score < 0.9 && best(4).score < 0.9,
        "what was replaced and removed is gone"
    );
    assert!(best(5).score > 0.999);
    collection.close();
    let index = Index::open(&index_folder, DIMENSIONS).unwrap();
    assert_eq!(index.points().unwrap().len(), 9 * 400);
}

#[test]
fn a_closed_store_reports_it_and_releases_its_lock() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = EdgeStore::open(folder.path()).unwrap();
        assert!(matches!(EdgeStore::open(folder.path()), Err(StoreError::InUse { .. })));
        store.close().await;
        assert!(store.collections().await.is_err());
        EdgeStore::open(folder.path()).unwrap();
    });
}

#[test]
fn one_broken_collection_does_not_affect_the_others() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), 2);
    fs::create_dir(folder.path().join("broken")).unwrap();
    fs::write(
        folder.path().join("broken").join("documents.redb"),
        "rubbish".repeat(1000),
    )
    .unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = EdgeStore::open(folder.path()).unwrap();
        assert_eq!(store.search(NAME, search(1, 4, 1)).await.unwrap()[0].document, "d1");
        let error = store.search("broken", search(1, 4, 1)).await.unwrap_err();
        assert!(error.to_string().contains("broken"), "{error}");
    });
}

#[test]
fn the_embedder_is_told_without_waiting_once_it_was_read() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), 1);
    let store = EdgeStore::open(folder.path()).unwrap();
    assert!(store.0.existing(NAME).is_ok());
    // No thread takes work over here: whatever is not there at once never comes.
    assert_eq!(store.embedder(NAME).now_or_never().unwrap().unwrap(), embedder(4));
    let store_closed = async {
        let unknown = store.embedder("other").await.unwrap_err();
        assert!(unknown.to_string().contains("known are notes"), "{unknown}");
        store.close().await;
        store.embedder(NAME).await.unwrap_err()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let closed = runtime.block_on(store_closed);
    assert!(emend_core::error_chain(&closed).contains("closed"), "{closed:?}");
}

#[tokio::test]
async fn a_copy_that_was_whole_takes_its_place_after_a_crash_and_one_that_was_not_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = EdgeStore::open(folder.path()).unwrap();
    for (name, text) in [(NAME, "before"), (".copy-notes", "copied"), (".copy-other", "begun")] {
        store
            .put(name, &embedder(4), document("d", text, 1, 1, 4))
            .await
            .unwrap();
    }
    store.close().await;
    drop(store);
    // Between the two renames, and after the first step of the second.
    let at = |name: &str| folder.path().join(name);
    fs::rename(at(".copy-notes"), at(".ready-notes")).unwrap();
    for crash in [false, true] {
        if crash {
            fs::rename(at(NAME), at(".ready-notes")).unwrap();
        }
        let store = EdgeStore::open(folder.path()).unwrap();
        let hits = store.search(NAME, search(1, 4, 1)).await.unwrap();
        assert_eq!(hits[0].text, "copied");
        let names = store.collections().await.unwrap();
        assert_eq!(names.len(), 1);
        assert_eq!(store.draft("other").await.unwrap(), ".copy-other");
        assert!(store.stored(".copy-other", "d").await.unwrap().is_some());
        store.close().await;
    }
    let mut left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, [".copy-other", LOCK, NAME]);
}

//! Many collections, and collections whose files are not what they should be.

use super::super::open::CATALOG;
use super::super::space::Space;
use super::*;

/// A store of so many collections `c0`, `c1`, … with a document each.
fn store_of(folder: &Path, count: usize) {
    for number in 0..count {
        let name = format!("c{number}");
        let collection = Collection::new(&name, folder.join(&name), Arc::default());
        collection.put(&embedder(4), &document("d", "text", 1, 1, 4)).unwrap();
        collection.close();
    }
}

#[tokio::test]
async fn collections_are_opened_when_they_are_used_first() {
    let folder = tempfile::tempdir().unwrap();
    store_of(folder.path(), 3);
    let store = EdgeStore::open(folder.path()).unwrap();
    let opens = || store.0.usage.opens();
    assert_eq!(opens(), (0, 0));
    // The list needs each catalog, once, and leaves none open.
    assert_eq!(store.collections().await.unwrap().len(), 3);
    assert_eq!(store.collections().await.unwrap().len(), 3);
    assert_eq!((opens(), store.0.usage.open()), ((3, 0), 0));
    assert_eq!(store.stored("c1", "d").await.unwrap().unwrap().passages, 1);
    assert_eq!((opens(), store.0.usage.open()), ((4, 0), 1));
    for _ in 0..2 {
        assert_eq!(store.search("c1", search(1, 4, 1)).await.unwrap().len(), 1);
    }
    assert_eq!((opens(), store.0.usage.open()), ((4, 1), 1));
    // What was stored and removed is counted.
    store
        .put("c1", &embedder(4), document("e", "more", 2, 2, 4))
        .await
        .unwrap();
    assert_eq!(store.collection("c1").await.unwrap().passages, 3);
    store.delete("c1", vec!["d".to_owned()]).await.unwrap();
    assert_eq!(store.collection("c1").await.unwrap().passages, 2);
    assert_eq!(opens(), (4, 1));
}

#[tokio::test]
async fn repairs_whose_callers_are_gone_before_their_turn_are_not_made() {
    let folder = tempfile::tempdir().unwrap();
    store_of(folder.path(), 1);
    let store = EdgeStore::open(folder.path()).unwrap();
    store.search("c0", search(1, 4, 1)).await.unwrap();
    let (_, before) = store.0.usage.opens();
    let held = store.0.repairs.lock().await;
    let mut waiting: Vec<_> = (0..8).map(|_| store.repair("c0")).collect();
    for repair in &mut waiting {
        assert!(futures::poll!(repair).is_pending());
    }
    let last = waiting.pop().unwrap();
    drop((held, waiting));
    assert_eq!(last.await.unwrap(), Repaired::default());
    // A later one has its turn after all that was still to be done.
    store.repair("c0").await.unwrap();
    assert_eq!(store.0.usage.opens().1, before + 2);
}

#[test]
fn the_collection_that_was_not_used_for_longest_is_closed_and_none_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let count = MAX_OPEN + 3;
    store_of(folder.path(), count);
    let store = EdgeStore::open(folder.path()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let _entered = runtime.enter();
    let find = |number: usize| {
        let name = format!("c{number}");
        runtime.block_on(store.search(&name, search(1, 4, 1))).unwrap().len()
    };
    let is_open = |number: usize| store.0.existing(&format!("c{number}")).unwrap().last_used().is_some();
    for number in 0..MAX_OPEN {
        assert_eq!(find(number), 1);
    }
    assert_eq!(store.0.usage.open(), MAX_OPEN);
    // Used again, so the second one is next.
    find(0);
    find(MAX_OPEN);
    assert_eq!(store.0.usage.open(), MAX_OPEN);
    assert!(is_open(0) && !is_open(1) && is_open(MAX_OPEN));
    // The third one is being read.
    let third = store.0.existing("c2").unwrap();
    let reading = third.read_lock();
    find(MAX_OPEN + 1);
    assert!(is_open(2) && !is_open(3));
    drop(reading);
    // A closed one is opened again, also to be written to.
    assert_eq!(find(1), 1);
    let four = embedder(4);
    let more = store.put("c3", &four, document("e", "more", 2, 1, 4));
    runtime.block_on(more).unwrap();
    assert_eq!(runtime.block_on(store.collection("c3")).unwrap().documents, 2);
    assert_eq!(store.0.usage.open(), MAX_OPEN);
}

#[test]
fn a_collection_that_is_closed_between_opening_and_reading_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), 3);
    let collection = collection_in(folder.path());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                collection.close_unused();
            }
        });
        for _ in 0..20 {
            assert_eq!(collection.search(&search(1, 4, 10)).unwrap().len(), 3);
            collection
                .put(&embedder(4), &document("d1", "text 1", 1, 3, 4))
                .unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    collection.close();
    check(folder.path(), 3);
}

#[tokio::test]
async fn a_catalog_that_is_empty_damaged_or_lost_is_no_new_collection() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), 2);
    let catalog = folder.path().join(NAME).join(CATALOG);
    let whole = fs::read(&catalog).unwrap();
    for (content, reason) in [
        (Some(&b""[..]), "is empty"),
        (Some(&[0; 8192][..]), "is damaged"),
        (Some(b"rubbish"), "is damaged"),
        (None, "is missing"),
    ] {
        match content {
            Some(content) => fs::write(&catalog, content).unwrap(),
            None => fs::remove_file(&catalog).unwrap(),
        }
        let store = EdgeStore::open(folder.path()).unwrap();
        let put = store
            .put(NAME, &embedder(4), document("d", "text", 1, 1, 4))
            .await
            .unwrap_err();
        let found = store.search(NAME, search(1, 4, 1)).await.unwrap_err();
        for error in [put, found] {
            let told = error.to_string();
            assert!(matches!(error, StoreError::Damaged { .. }), "{reason}: {error:?}");
            assert!(
                told.contains(reason) && told.contains(NAME) && told.contains("backup"),
                "{told}"
            );
        }
        store.close().await;
        assert_eq!(fs::read(&catalog).ok().as_deref(), content, "{reason}: left as it was");
    }
    fs::write(&catalog, whole).unwrap();
    check(folder.path(), 2);
}

#[test]
fn words_of_many_removed_passages_count_until_the_index_is_optimized() {
    let folder = tempfile::tempdir().unwrap();
    let collection = collection_in(folder.path());
    let put = |id: &str, text: &str, chunks| collection.put(&embedder(4), &document(id, text, 1, chunks, 4)).unwrap();
    let score = || {
        let words = Search {
            query: Query::Sparse(Terms::of_query("lantern")),
            ..search(1, 4, 1)
        };
        collection.search(&words).unwrap()[0].score
    };
    assert!(!put("rare", "lantern keeper", 1) && !put("other", "harbour keeper", 1));
    let before = score();
    // Replaced: as many passages are removed, and then again when the document is.
    assert!(!put("many", "harbour keeper", 300));
    assert!(put("many", "harbour wall", 300), "due");
    collection.optimize().unwrap();
    assert_eq!(
        collection.delete(&["other".to_owned()]).unwrap(),
        (1, false),
        "no longer due"
    );
    put("other", "harbour keeper", 1);
    assert_eq!(collection.delete(&["many".to_owned()]).unwrap(), (1, true));
    let removed = score();
    assert!(removed > before + 1.0, "{removed} {before}");
    collection.optimize().unwrap();
    assert!((score() - before).abs() < 1e-6, "{} {before}", score());
    collection.close();
    assert_eq!(points(folder.path()).len(), 2);
}

#[test]
fn what_a_crash_left_of_a_new_catalog_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(NAME)).unwrap();
    fs::write(folder.path().join(NAME).join("documents.redb.new"), "half").unwrap();
    filled(folder.path(), 2);
    check(folder.path(), 2);
}

#[test]
fn without_free_space_documents_are_neither_removed_nor_is_an_index_opened() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), 2);
    let mut collection = collection_in(folder.path());
    collection.set_space(Space(|_| Ok(0)));
    for error in [
        collection.delete(&["d0".to_owned()]).unwrap_err(),
        collection.search(&search(1, 4, 1)).unwrap_err(),
        collection
            .put(&embedder(4), &document("d", "text", 1, 1, 4))
            .unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::NoSpace { .. }), "{error:?}");
    }
    // Reading the catalog writes nothing.
    assert_eq!(collection.documents("", 10).unwrap().len(), 2);
}

//! What every store promises, one at a time.

use emend_core::{Code, ServiceError};
use emend_retriever::backend::{
    CollectionInfo, EmbedderInfo, ListedDocument, NewDocument, Query, ReadUnits, Repaired, Search, StoreError,
    StoredDocument, Unit,
};
use emend_retriever::terms::Terms;

use crate::subject::{DIMENSIONS, Subject, dense, document, embedder, places, sparse, vector, vector_of, word};

/// Stores documents of one section and one chunk each, named by their seeds.
pub(crate) async fn fill(subject: &Subject, collection: &str, seeds: impl IntoIterator<Item = u64>) {
    for seed in seeds {
        let text = format!("text {}", word(seed));
        let document = document(&format!("d{seed:03}"), seed, &[(&text, 1)]);
        subject.store.put(collection, &embedder(), document).await.unwrap();
    }
}

pub(crate) async fn info(subject: &Subject, collection: &str) -> CollectionInfo {
    subject.store.collection(collection).await.unwrap()
}

pub(crate) async fn an_unknown_collection_is_named_with_the_known_ones(subject: &Subject) {
    let store = &subject.store;
    let check = |error: StoreError, expected: &[&str]| {
        assert_eq!(error.code(), Code::NotFound);
        let StoreError::UnknownCollection { name, known } = error else {
            panic!("{error}")
        };
        assert_eq!(name, "other");
        assert_eq!(known, expected);
    };
    let search = || dense(1, 1, Unit::Chunk);
    for known in [&[][..], &["notes"]] {
        check(store.collection("other").await.unwrap_err(), known);
        check(store.embedder("other").await.unwrap_err(), known);
        check(store.documents("other", "", 1).await.unwrap_err(), known);
        check(store.delete("other", vec!["a".to_owned()]).await.unwrap_err(), known);
        check(store.search("other", search()).await.unwrap_err(), known);
        check(store.read("other", "a").await.unwrap_err(), known);
        check(store.delete_collection("other").await.unwrap_err(), known);
        check(store.repair("other").await.unwrap_err(), known);
        assert_eq!(store.stored("other", "a").await.unwrap(), None);
        fill(subject, "notes", [1]).await;
    }
    store.probe().await.unwrap();
}

pub(crate) async fn the_first_document_makes_the_collection(subject: &Subject) {
    assert_eq!(subject.store.collections().await.unwrap(), []);
    fill(subject, "b", [1, 2]).await;
    fill(subject, "a.b-c_D", [3]).await;
    let infos = subject.store.collections().await.unwrap();
    let expected = |name: &str, count| CollectionInfo {
        name: name.to_owned(),
        documents: count,
        passages: count,
        embedder: embedder(),
    };
    assert_eq!(infos, [expected("a.b-c_D", 1), expected("b", 2)]);
    assert_eq!(subject.store.embedder("b").await.unwrap(), embedder());
    assert_eq!(info(subject, "b").await, expected("b", 2));
    // They do not see each other.
    let hits = subject.store.search("b", dense(3, 10, Unit::Chunk)).await.unwrap();
    assert_eq!(hits.len(), 2);
}

pub(crate) async fn another_embedder_is_refused_with_both_names(subject: &Subject) {
    fill(subject, "notes", [1]).await;
    let others = [
        EmbedderInfo {
            id: "another".to_owned(),
            ..embedder()
        },
        EmbedderInfo {
            dimensions: 3,
            ..embedder()
        },
    ];
    for other in others {
        let mut new = document("new", 2, &[("words", 1)]);
        for chunk in &mut new.chunks {
            chunk.embedding = Some(vector_of(2, other.dimensions));
        }
        let error = subject.store.put("notes", &other, new).await.unwrap_err();
        assert_eq!(error.code(), Code::FailedPrecondition);
        let text = error.to_string();
        for part in [
            "\"notes\"",
            "fixed (4 values)",
            &format!("{} ({}", other.id, other.dimensions),
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(subject.store.stored("notes", "new").await.unwrap(), None);
    }
    assert_eq!(info(subject, "notes").await.documents, 1);
}

pub(crate) async fn embeddings_of_another_length_are_refused(subject: &Subject) {
    let mut wrong = document("a", 1, &[("words", 2)]);
    wrong.chunks[1].embedding = Some(vector_of(1, DIMENSIONS + 1));
    assert!(subject.store.put("notes", &embedder(), wrong).await.is_err());
    assert_eq!(subject.store.stored("notes", "a").await.unwrap(), None);
}

pub(crate) async fn a_document_replaces_its_earlier_version(subject: &Subject) {
    let store = &subject.store;
    fill(subject, "notes", [100]).await;
    for (seed, sections) in [(1, vec![("first", 3), ("second", 2)]), (50, vec![("third", 1)])] {
        let new = document("a", seed, &sections);
        let chunks = new.chunks.len() as u32;
        store.put("notes", &embedder(), new.clone()).await.unwrap();
        let stored = store.stored("notes", "a").await.unwrap();
        let expected = StoredDocument {
            fingerprint: new.fingerprint,
            passages: chunks,
        };
        assert_eq!(stored, Some(expected));
        let counted = info(subject, "notes").await;
        assert_eq!((counted.documents, counted.passages), (2, 1 + u64::from(chunks)));
        let hits = store.search("notes", dense(seed, 10, Unit::Chunk)).await.unwrap();
        let of_it: Vec<u32> = hits
            .iter()
            .filter(|hit| hit.document == "a")
            .map(|hit| hit.index)
            .collect();
        // Chunks of one section have the same text and are copies of each other.
        assert_eq!(of_it.len(), sections.len(), "{hits:?}");
        assert!(hits[0].score > 0.999 && hits[0].index == 0, "{hits:?}");
        let words = sections[0].0;
        assert_eq!(
            places(&store.search("notes", sparse(words, 5)).await.unwrap())[0].0,
            "a"
        );
    }
    // Nothing of the old version is found.
    assert_eq!(store.search("notes", sparse("first", 5)).await.unwrap(), []);
}

pub(crate) async fn removed_documents_are_gone(subject: &Subject) {
    let store = &subject.store;
    fill(subject, "notes", 0..4).await;
    let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        store.delete("notes", ids(&["d001", "nobody", "d003"])).await.unwrap(),
        2
    );
    assert_eq!(store.delete("notes", ids(&["d001", "nobody"])).await.unwrap(), 0);
    let counted = info(subject, "notes").await;
    assert_eq!((counted.documents, counted.passages), (2, 2));
    assert_eq!(store.stored("notes", "d001").await.unwrap(), None);
    assert!(store.read("notes", "d001").await.unwrap().is_none());
    let hits = store.search("notes", dense(1, 10, Unit::Chunk)).await.unwrap();
    let mut found: Vec<&str> = hits.iter().map(|hit| hit.document.as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, ["d000", "d002"]);
    assert_eq!(store.search("notes", sparse(&word(1), 5)).await.unwrap(), []);
    // It can come back.
    fill(subject, "notes", [1]).await;
    assert_eq!(
        places(&store.search("notes", dense(1, 1, Unit::Chunk)).await.unwrap()),
        [("d001", 0)]
    );
    // A collection without documents stays.
    store.delete("notes", ids(&["d000", "d001", "d002"])).await.unwrap();
    let counted = info(subject, "notes").await;
    assert_eq!((counted.documents, counted.passages), (0, 0));
    assert_eq!(store.search("notes", dense(1, 1, Unit::Section)).await.unwrap(), []);
}

pub(crate) async fn documents_are_listed_in_the_order_of_their_ids(subject: &Subject) {
    let ids = ["", "A", "a", "a/b", "a:b", "aa", "b\n\"quoted\" 'x'", "é", "文書", "🦀"];
    let store = &subject.store;
    for (seed, id) in (1..).zip(&ids[1..]) {
        let new = document(id, seed, &[("words", seed as u32)]);
        store.put("notes", &embedder(), new).await.unwrap();
    }
    let mut sorted = ids[1..].to_vec();
    sorted.sort_unstable();
    for after in ids {
        for limit in [1, 3, 100] {
            let listed = store.documents("notes", after, limit).await.unwrap();
            let listed: Vec<&str> = listed.iter().map(|document| document.id.as_str()).collect();
            let expected: Vec<&str> = sorted.iter().copied().filter(|id| *id > after).take(limit).collect();
            assert_eq!(listed, expected, "after {after:?}, {limit}");
        }
    }
    let first = store.documents("notes", "", 1).await.unwrap();
    let expected = ListedDocument {
        id: "A".to_owned(),
        title: "Title of A".to_owned(),
        source: "/files/A".to_owned(),
        owner: "/owners/A".to_owned(),
        passages: 1,
    };
    assert_eq!(first, [expected]);
}

pub(crate) async fn what_is_read_is_what_was_stored(subject: &Subject) {
    let mut new = document("a", 7, &[("häuser über 東京", 3), ("second", 2)]);
    new.metadata.insert("lang".to_owned(), "de".to_owned());
    new.chunks[4].terms = Terms::default();
    subject.store.put("notes", &embedder(), new.clone()).await.unwrap();
    let read = subject.store.read("notes", "a").await.unwrap().unwrap();
    assert_same(&read, &new);
    assert!(subject.store.read("notes", "b").await.unwrap().is_none());
    // What was read can be stored.
    subject.store.put("copies", &embedder(), read).await.unwrap();
    assert_same(&subject.store.read("copies", "a").await.unwrap().unwrap(), &new);
    let hit = &subject.store.search("copies", dense(7, 1, Unit::Chunk)).await.unwrap()[0];
    assert_eq!((hit.text.as_str(), hit.start, hit.end), ("häuser über 東京. ", 0, 16));
    assert_eq!(hit.headings, [""; 0]);
    let expected = ["Heading 0 제목 of second"];
    for unit in [Unit::Chunk, Unit::Section] {
        let hit = &subject.store.search("copies", dense(10, 1, unit)).await.unwrap()[0];
        assert_eq!(
            (hit.index, hit.headings.as_slice()),
            (
                if unit == Unit::Chunk { 3 } else { 1 },
                &expected.map(str::to_owned)[..]
            )
        );
    }
    assert_eq!(
        (&hit.title, &hit.source, &hit.metadata),
        (&new.title, &new.source, &new.metadata)
    );
}

/// All the same, but for the rounding of vectors that are made unit vectors again.
fn assert_same(read: &NewDocument, new: &NewDocument) {
    let plain = |document: &NewDocument| {
        let NewDocument {
            id,
            fingerprint,
            title,
            source,
            owner,
            metadata,
            sections,
            chunks,
        } = document.clone();
        let chunks: Vec<_> = chunks
            .into_iter()
            .map(|chunk| (chunk.section, chunk.start, chunk.end, chunk.terms))
            .collect();
        (id, fingerprint, title, (source, owner), metadata, sections, chunks)
    };
    assert_eq!(plain(read), plain(new));
    for (read, new) in read.chunks.iter().zip(&new.chunks) {
        let (read, new) = (read.embedding.as_ref().unwrap(), new.embedding.as_ref().unwrap());
        assert_eq!(read.len(), new.len());
        for (read, new) in read.iter().zip(&**new) {
            assert!((read - new).abs() < 1e-6, "{read} {new}");
        }
    }
}

pub(crate) async fn a_section_is_found_once_with_its_best_chunk(subject: &Subject) {
    let store = &subject.store;
    // Twenty near chunks of one section, and others further away: R10 fills up to the limit.
    let mut near = document("near", 0, &[("near", 20)]);
    for chunk in &mut near.chunks {
        chunk.embedding = Some(vector(1));
    }
    near.chunks[13].embedding = Some(vector(2));
    store.put("notes", &embedder(), near).await.unwrap();
    for seed in 3..6 {
        let far = document(&format!("far{seed}"), seed, &[(&format!("far{seed}"), 2)]);
        store.put("notes", &embedder(), far).await.unwrap();
    }
    for exact in [false, true] {
        for ef in [None, Some(16)] {
            let search = Search {
                exact,
                ef,
                ..dense(2, 4, Unit::Section)
            };
            let hits = store.search("notes", search).await.unwrap();
            let mut found: Vec<&str> = hits.iter().map(|hit| hit.document.as_str()).collect();
            let near = hits.iter().find(|hit| hit.document == "near").unwrap();
            assert!(near.score > 0.999 && near.text == "near. ".repeat(20), "{near:?}");
            found.sort_unstable();
            assert_eq!(found, ["far3", "far4", "far5", "near"]);
        }
    }
}

pub(crate) async fn copies_are_found_once(subject: &Subject) {
    let store = &subject.store;
    for id in ["b", "a", "c"] {
        let copy = document(id, 1, &[("Licence: MIT!", 1)]);
        store.put("notes", &embedder(), copy).await.unwrap();
    }
    let other = document("d", 9, &[("another text", 1)]);
    store.put("notes", &embedder(), other).await.unwrap();
    for unit in [Unit::Chunk, Unit::Section] {
        let hits = store.search("notes", dense(1, 4, unit)).await.unwrap();
        // Equal scores: the first by its id.
        assert_eq!(places(&hits), [("a", 0), ("d", 0)]);
    }
}

pub(crate) async fn a_removed_collection_can_be_made_again_with_another_embedder(subject: &Subject) {
    let store = &subject.store;
    fill(subject, "notes", 0..3).await;
    fill(subject, "others", 0..1).await;
    assert_eq!(store.delete_collection("notes").await.unwrap(), 3);
    assert!(matches!(
        store.search("notes", dense(1, 1, Unit::Chunk)).await.unwrap_err(),
        StoreError::UnknownCollection { known, .. } if known == ["others"]
    ));
    assert_eq!(store.stored("notes", "d001").await.unwrap(), None);
    let other = EmbedderInfo {
        id: "another".to_owned(),
        dimensions: 2,
    };
    let mut new = document("new", 1, &[("words", 1)]);
    new.chunks[0].embedding = Some(vector_of(1, 2));
    store.put("notes", &other, new).await.unwrap();
    assert_eq!(store.embedder("notes").await.unwrap(), other);
    let hits = store
        .search(
            "notes",
            Search {
                query: Query::Dense(vector_of(1, 2)),
                ..dense(1, 10, Unit::Chunk)
            },
        )
        .await
        .unwrap();
    assert_eq!(places(&hits), [("new", 0)]);
    assert_eq!(info(subject, "notes").await.documents, 1);
    assert_eq!(info(subject, "others").await.documents, 1);
}

pub(crate) async fn a_repair_of_what_is_whole_changes_nothing(subject: &Subject) {
    fill(subject, "notes", 0..5).await;
    let before = subject.store.search("notes", dense(1, 10, Unit::Chunk)).await.unwrap();
    assert_eq!(subject.store.repair("notes").await.unwrap(), Repaired::default());
    let after = subject.store.search("notes", dense(1, 10, Unit::Chunk)).await.unwrap();
    assert_eq!(after, before);
}

pub(crate) async fn many_documents_and_large_ones_are_stored_whole(subject: &Subject) {
    let store = &subject.store;
    // More points than a page or a call takes, and more bytes.
    let long = "lighthouse ".repeat(20_000);
    let sections: Vec<(&str, u32)> = (0..40)
        .map(|number| if number == 3 { (&*long, 1) } else { ("small", 30) })
        .collect();
    let mut large = document("large", 1, &sections);
    for (number, section) in (0..).zip(&mut large.sections) {
        section.text.push_str(&format!("section{number}"));
    }
    store.put("notes", &embedder(), large.clone()).await.unwrap();
    assert_same(&store.read("notes", "large").await.unwrap().unwrap(), &large);
    let counted = info(subject, "notes").await;
    assert_eq!((counted.documents, counted.passages), (1, large.chunks.len() as u64));
    let hits = store.search("notes", dense(1, 40, Unit::Section)).await.unwrap();
    assert_eq!(hits.len(), 40);
    assert_eq!(store.delete("notes", vec!["large".to_owned()]).await.unwrap(), 1);
    assert_eq!(info(subject, "notes").await.passages, 0);
}

pub(crate) async fn units_are_read_back_in_order(subject: &Subject) {
    let store = &subject.store;
    let new = document("a", 1, &[("first", 3), ("second", 250)]);
    store.put("notes", &embedder(), new.clone()).await.unwrap();
    let read = |unit, from, limit, bytes| ReadUnits {
        unit,
        from,
        limit,
        bytes,
    };
    let whole = store
        .document("notes", "a", read(Unit::Section, 0, 10, usize::MAX))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (whole.total, whole.fingerprint, whole.document.passages),
        (2, new.fingerprint, 253)
    );
    let texts: Vec<_> = whole.units.iter().map(|unit| &unit.text).collect();
    assert_eq!(texts, [&new.sections[0].text, &new.sections[1].text]);
    // Over several calls to a server, from the middle, and bounded by bytes: one unit at least.
    for (from, limit, bytes, expected) in [
        (0, 1000, usize::MAX, 0..253),
        (2, 230, usize::MAX, 2..232),
        (5, 9, 1, 5..6),
        (253, 1, 1, 0..0),
    ] {
        let found = store
            .document("notes", "a", read(Unit::Chunk, from, limit, bytes))
            .await
            .unwrap()
            .unwrap();
        let places: Vec<_> = found
            .units
            .iter()
            .map(|unit| (unit.index, unit.start, unit.end))
            .collect();
        let chunks = (0..)
            .zip(&new.chunks)
            .map(|(index, chunk)| (index, chunk.start, chunk.end));
        let chunks: Vec<_> = chunks.skip(expected.start).take(expected.len()).collect();
        assert_eq!((found.total, places), (253, chunks));
    }
    let nobody = read(Unit::Chunk, 0, 1, 1);
    assert_eq!(store.document("notes", "nobody", nobody).await.unwrap(), None);
    assert!(matches!(
        store.document("other", "a", nobody).await.unwrap_err(),
        StoreError::UnknownCollection { .. }
    ));
}

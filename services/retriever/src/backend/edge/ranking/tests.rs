use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::super::collection::Collection;
use super::*;
use crate::backend::{Chunk, Condition, EmbedderInfo, NewDocument, Section, Test};

/// Stores documents of one chunk each: identifier, text and embedding.
fn stored(folder: &Path, documents: &[(&str, &str, [f32; 2])]) -> Collection {
    let collection = Collection::new("notes", folder.join("notes"), Default::default());
    let embedder = EmbedderInfo {
        id: "fixed".to_owned(),
        dimensions: 2,
    };
    for (id, text, embedding) in documents {
        let document = NewDocument {
            id: (*id).to_owned(),
            fingerprint: [0; 32],
            title: String::new(),
            source: String::new(),
            owner: String::new(),
            metadata: [("id".to_owned(), (*id).to_owned())].into(),
            sections: vec![Section {
                start: 0,
                text: (*text).to_owned(),
                headings: Vec::new(),
            }],
            chunks: vec![Chunk {
                section: 0,
                start: 0,
                end: u32::try_from(text.chars().count()).unwrap(),
                embedding: Some(Arc::new(*embedding)),
                terms: Terms::of_passage(text),
            }],
        };
        collection.put(&embedder, &document).unwrap();
    }
    collection
}

const NOTES: [(&str, &str, [f32; 2]); 4] = [
    ("ferry", "The ferry leaves at seven.", [0.0, 1.0]),
    ("bus", "The bus leaves at eight.", [0.6, 0.8]),
    ("model", "Model HM-300 needs the key KX-17.", [0.8, 0.6]),
    ("bread", "Bread needs flour and yeast.", [1.0, 0.0]),
];

fn search(query: Query, limit: usize) -> Search {
    Search {
        query,
        limit,
        unit: Unit::Section,
        filter: Vec::new(),
        language: None,
        ef: None,
        exact: false,
    }
}

fn found(collection: &Collection, query: Query) -> Vec<String> {
    let hits = collection.search(&search(query, 4)).unwrap();
    assert!(hits.is_sorted_by(|left, right| left.score >= right.score), "{hits:?}");
    hits.into_iter().map(|hit| hit.document).collect()
}

fn words(text: &str) -> Query {
    Query::Sparse(Terms::of_query(text))
}

#[test]
fn words_find_what_has_them_and_rare_words_count_for_more() {
    let folder = tempfile::tempdir().unwrap();
    let collection = stored(folder.path(), &NOTES);
    assert_eq!(
        found(&collection, words("Which key does the HM-300 need?"))[..1],
        ["model"]
    );
    // "need" is in two notes, "yeast" in one.
    assert_eq!(found(&collection, words("yeast needed")), ["bread", "model"]);
    assert_eq!(found(&collection, words("of the")), [""; 0]);
    let filtered = Search {
        filter: vec![Condition {
            field: "id".to_owned(),
            test: Test::OneOf(vec!["bread".to_owned()]),
        }],
        ..search(words("needs"), 4)
    };
    assert_eq!(collection.search(&filtered).unwrap().len(), 1);
}

#[test]
fn a_hybrid_search_finds_what_is_near_and_what_has_the_words() {
    let folder = tempfile::tempdir().unwrap();
    let collection = stored(folder.path(), &NOTES);
    let embedding: Arc<[f32]> = Arc::new([0.0, 1.0]);
    assert_eq!(
        found(&collection, Query::Dense(Arc::clone(&embedding)))[..2],
        ["ferry", "bus"]
    );
    let hybrid = |text| {
        found(
            &collection,
            Query::Hybrid(Arc::clone(&embedding), Terms::of_query(text)),
        )
    };
    // Third by meaning and first by words comes before first by meaning alone.
    assert_eq!(hybrid("KX-17")[..2], ["model", "ferry"]);
    // Without a word in common the order is that of the embeddings.
    assert_eq!(hybrid("zeppelin"), found(&collection, Query::Dense(embedding)));
}

#[test]
fn copies_are_found_once_and_others_fill_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut notes = NOTES.to_vec();
    notes.push(("ferry (copy)", "*The FERRY* leaves\nat seven", [0.0, 1.0]));
    notes.push(("ferry, old", "The ferry leaves at six.", [0.0, 1.0]));
    let collection = stored(folder.path(), &notes);
    let near: Arc<[f32]> = Arc::new([0.0, 1.0]);
    let hits = collection.search(&search(Query::Dense(near), 3)).unwrap();
    let documents: Vec<_> = hits.iter().map(|hit| hit.document.as_str()).collect();
    assert_eq!(documents, ["ferry", "ferry, old", "bus"]);
}

#[test]
fn words_are_found_again_when_the_index_was_lost() {
    let folder = tempfile::tempdir().unwrap();
    let collection = stored(folder.path(), &NOTES);
    collection.close();
    fs::remove_dir_all(folder.path().join("notes").join("index")).unwrap();
    assert_eq!(found(&collection, words("KX-17")), ["model"]);
}

#[test]
fn where_no_language_is_stored_the_text_tells_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut notes = NOTES.to_vec();
    notes.push(("열쇠", "열쇠는 관리인이 가지고 있다.", [-1.0, 0.0]));
    let collection = stored(folder.path(), &notes);
    let near: Arc<[f32]> = Arc::new([0.0, 1.0]);
    let hybrid = Search {
        language: Some(Language::En),
        ..search(Query::Hybrid(near, Terms::of_query("flour")), 4)
    };
    let found = || -> Vec<String> {
        let hits = collection.search(&hybrid).unwrap().into_iter();
        hits.map(|hit| hit.document).collect()
    };
    let stored = found();
    assert!(stored.iter().any(|document| document == "열쇠"), "{stored:?}");
    collection.close();
    let database = redb::Database::open(folder.path().join("notes").join("documents.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    let languages = redb::TableDefinition::<(u64, u32), &str>::new("languages");
    assert!(transaction.delete_table(languages).unwrap());
    transaction.commit().unwrap();
    drop(database);
    assert_eq!(found(), stored);
}

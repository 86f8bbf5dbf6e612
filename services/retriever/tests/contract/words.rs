//! What every store promises of the words of documents.

use std::time::Duration;

use emend_retriever::backend::{Query, Repaired, Search, Unit};
use emend_retriever::terms::Terms;

use crate::promises::{fill, info};
use crate::subject::{Subject, dense, document, embedder, sparse, vector, word};

pub(crate) async fn a_document_without_embeddings_is_found_by_its_words(subject: &Subject) {
    let store = &subject.store;
    let embedded = document("a", 1, &[("lantern", 2), ("tower", 1)]);
    let mut by_words = embedded.clone();
    by_words.fingerprint = [9; 32];
    by_words.chunks.iter_mut().for_each(|chunk| chunk.embedding = None);
    // The first document of a collection may be one, and one without words too.
    store.put("notes", &embedder(), by_words.clone()).await.unwrap();
    let mut neither = by_words.clone();
    neither.id = "b".to_owned();
    neither
        .chunks
        .iter_mut()
        .for_each(|chunk| chunk.terms = Terms::default());
    store.put("notes", &embedder(), neither).await.unwrap();
    assert_eq!(info(subject, "notes").await.passages, 6);
    fill(subject, "notes", [50]).await;
    let found = async |search| {
        let hits = store.search("notes", search).await.unwrap();
        hits.into_iter().map(|hit| hit.document).collect::<Vec<_>>()
    };
    assert_eq!(found(sparse("lantern", 5)).await, ["a"]);
    assert_eq!(found(dense(1, 5, Unit::Section)).await, ["d050"]);
    let hybrid = Search {
        query: Query::Hybrid(vector(1), Terms::of_query("lantern")),
        ..dense(1, 5, Unit::Section)
    };
    let mut both = found(hybrid).await;
    both.sort();
    assert_eq!(both, ["a", "d050"]);
    for id in ["a", "b"] {
        let read = store.read("notes", id).await.unwrap().unwrap();
        assert!(read.chunks.iter().all(|chunk| chunk.embedding.is_none()), "{read:?}");
    }
    assert_eq!(store.repair("notes").await.unwrap(), Repaired::default());
    assert_eq!(found(sparse("tower", 5)).await, ["a"]);

    store.put("notes", &embedder(), embedded).await.unwrap();
    assert_eq!(found(dense(1, 1, Unit::Section)).await, ["a"]);
    let read = store.read("notes", "a").await.unwrap().unwrap();
    assert!(read.chunks.iter().all(|chunk| chunk.embedding.is_some()), "{read:?}");
}

pub(crate) async fn rare_words_count_for_more_and_the_count_follows_the_documents(subject: &Subject) {
    let store = &subject.store;
    let put = async |id: &str, words: &str| {
        let new = document(id, 1, &[(words, 1)]);
        store.put("notes", &embedder(), new).await.unwrap();
    };
    put("rare", "lantern keeper").await;
    put("common", "harbour keeper").await;
    let first = async |words: &str| store.search("notes", sparse(words, 3)).await.unwrap()[0].clone();
    let among_two = first("lantern").await;
    for number in 0..9 {
        put(&format!("common{number}"), &format!("harbour keeper {}", word(number))).await;
    }
    // The rarer, the more: nothing of what was stored was written again.
    let among_many = first("lantern").await;
    assert!(
        among_many.score > among_two.score,
        "{} {}",
        among_many.score,
        among_two.score
    );
    // And the more others, however they come.
    let many = document("many", 500, &[("harbour keeper", 1200)]);
    store.put("notes", &embedder(), many).await.unwrap();
    assert!(first("lantern").await.score > among_many.score + 1.0);
    assert_eq!(first("harbour lantern").await.document, "rare");
    assert!(first("harbour").await.score < among_many.score);
    // Words that nobody has, and none at all.
    assert_eq!(store.search("notes", sparse("zeppelin", 3)).await.unwrap(), []);
    assert_eq!(store.search("notes", sparse("", 3)).await.unwrap(), []);
    let hybrid = Search {
        query: Query::Hybrid(vector(1), Terms::of_query("lantern")),
        ..dense(1, 3, Unit::Section)
    };
    let hits = store.search("notes", hybrid).await.unwrap();
    assert_eq!((hits.len(), hits[0].document.as_str()), (3, "rare"));
    assert!(hits.iter().all(|hit| hit.score > 0.0 && hit.score < 0.04), "{hits:?}");

    // When they go, the score goes back: not before the store has rewritten what they were in, as its documentation says.
    let gone = (0..9)
        .map(|number| format!("common{number}"))
        .chain(["many".to_owned()]);
    assert_eq!(store.delete("notes", gone.collect()).await.unwrap(), 10);
    subject.settle("notes").await;
    let went_back = async {
        while (first("lantern").await.score - among_two.score).abs() > 1e-6 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), went_back).await;
    assert!(
        waited.is_ok(),
        "{} and not {}",
        first("lantern").await.score,
        among_two.score
    );
    assert!(first("harbour").await.score > 0.5, "no longer a word of nearly all");
}

//! What a server can do to a retriever: be too old, be full, refuse, lose points, and be changed by others meanwhile.

use emend_core::{Code, Reason, Resource, ServiceError};
use emend_retriever::backend::qdrant::{QdrantSettings, QdrantStore};
use emend_retriever::backend::{ReadUnits, Repaired, StoreError, Unit, VectorStore};
use emend_test_qdrant::Server;
use tonic::Status;

use crate::proxy::{self, Gate};
use crate::subject::{AT_ONCE, Qdrant, dense, document, embedder, sparse};

const NAME: &str = "notes";

fn store_at(url: &str) -> QdrantStore {
    let settings = QdrantSettings {
        url: url.to_owned(),
        timing: AT_ONCE,
        ..Qdrant::settings()
    };
    QdrantStore::new(settings).unwrap()
}

/// A stand-in with a document `a` of two sections with two chunks each, and `b` of one.
async fn filled() -> (Server, String, QdrantStore) {
    let (server, url) = Server::start().await;
    let store = store_at(&url);
    put(&store, "a", 1).await.unwrap();
    let other = document("b", 100, &[("other", 1)]);
    store.put(NAME, &embedder(), other).await.unwrap();
    (server, url, store)
}

async fn put(store: &QdrantStore, id: &str, seed: u64) -> Result<(), StoreError> {
    let new = document(id, seed, &[("first", 2), ("second", 2)]);
    store.put(NAME, &embedder(), new).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_too_old_is_named_with_its_version_and_never_written_to() {
    let (server, url) = Server::start().await;
    let store = store_at(&url);
    for version in ["1.16.9", "0.11.0", "what?"] {
        server.set_version(version);
        for error in [
            store.probe().await.unwrap_err(),
            store.collections().await.unwrap_err(),
            put(&store, "a", 1).await.unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(matches!(error, StoreError::Outdated { .. }), "{error:?}");
            assert_eq!(
                (error.code(), error.reason()),
                (Code::FailedPrecondition, Reason::StoreUnusable)
            );
            for part in [&url, &format!("{version:?}"), "1.17.0", "update it"] {
                assert!(text.contains(part), "{text}");
            }
        }
        assert_eq!(server.names(), [""; 0]);
    }
    // Updated meanwhile.
    server.set_version("1.17.3");
    put(&store, "a", 1).await.unwrap();
    store.probe().await.unwrap();
    // A server that was put in its place is noticed by the next probe.
    server.set_version("1.16.0");
    assert!(matches!(store.probe().await.unwrap_err(), StoreError::Outdated { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_and_one_that_refuses_leave_what_was_there() {
    let (server, url, store) = filled().await;
    let points = server.points(NAME);
    for (status, code, says) in [
        (
            Status::resource_exhausted("quota of points"),
            Code::ResourceExhausted,
            "takes no more (quota of points)",
        ),
        (
            Status::permission_denied("read-only key"),
            Code::FailedPrecondition,
            "refuses this service (read-only key)",
        ),
        (
            Status::unauthenticated("Invalid API key"),
            Code::FailedPrecondition,
            "refuses this service (Invalid API key)",
        ),
        (
            Status::internal("Service internal error"),
            Code::Internal,
            "cannot list the aliases (Service internal error)",
        ),
    ] {
        server.set_failure(Some(status));
        for error in [
            store.probe().await.unwrap_err(),
            put(&store, "a", 7).await.unwrap_err(),
            store.search(NAME, dense(1, 1, Unit::Chunk)).await.unwrap_err(),
            store.repair(NAME).await.unwrap_err(),
        ] {
            assert_eq!(error.code(), code, "{error:?}");
            assert!(error.to_string().contains(says), "{error}");
        }
        server.set_failure(None);
        assert_eq!(server.points(NAME), points);
        let read = store.read(NAME, "a").await.unwrap().unwrap();
        assert_eq!(read.fingerprint, document("a", 1, &[]).fingerprint);
    }
    // In the middle of a write, when the new version is announced.
    let gate = Gate::default();
    let writing = store_at(&proxy::start(&url, gate.clone()).await);
    let beneath = server.clone();
    gate.before("Upsert", move || {
        beneath.set_failure(Some(Status::resource_exhausted("no disk")))
    });
    let error = put(&writing, "a", 7).await.unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error:?}");
    server.set_failure(None);
    put(&store, "a", 7).await.unwrap();
    assert_eq!(server.points(NAME), points);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_whose_sections_are_lost_is_damaged_and_named_until_it_is_stored_again() {
    let (server, _, store) = filled().await;
    assert_eq!(server.lose(NAME, &[("document", "a"), ("kind", "section")]), 2);
    let whole = ReadUnits {
        unit: Unit::Section,
        from: 0,
        limit: 10,
        bytes: usize::MAX,
    };
    for error in [
        store.search(NAME, dense(1, 3, Unit::Section)).await.unwrap_err(),
        store.search(NAME, sparse("first", 1)).await.unwrap_err(),
        store.read(NAME, "a").await.unwrap_err(),
        store.document(NAME, "a", whole).await.unwrap_err(),
    ] {
        let text = error.to_string();
        assert!(matches!(error, StoreError::DamagedDocument { .. }), "{error:?}");
        assert_eq!(
            (error.code(), error.reason()),
            (Code::FailedPrecondition, Reason::StoredDataDamaged)
        );
        assert_eq!(error.resource(), Some(Resource::document("a")));
        for part in ["\"a\"", "\"notes\"", "ingest it again", "emend collections repair"] {
            assert!(text.contains(part), "{text}");
        }
    }
    // The other one is not.
    assert!(store.read(NAME, "b").await.unwrap().is_some());
    let expected = Repaired {
        incomplete: vec!["a".to_owned()],
        ..Repaired::default()
    };
    // It cannot be restored, so it is named each time.
    for _ in 0..2 {
        assert_eq!(store.repair(NAME).await.unwrap(), expected);
    }
    put(&store, "a", 1).await.unwrap();
    assert_eq!(store.repair(NAME).await.unwrap(), Repaired::default());
    assert_eq!(store.search(NAME, dense(1, 3, Unit::Section)).await.unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_whose_passages_are_lost_is_damaged_and_can_be_removed() {
    let (server, _, store) = filled().await;
    assert_eq!(server.lose(NAME, &[("document", "a"), ("kind", "passage")]), 4);
    let error = store.read(NAME, "a").await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("0 of 4 passages and 2 of 2 sections are there"),
        "{error}"
    );
    let chunks = ReadUnits {
        unit: Unit::Chunk,
        from: 1,
        limit: 1,
        bytes: usize::MAX,
    };
    let error = store.document(NAME, "a", chunks).await.unwrap_err();
    assert!(matches!(error, StoreError::DamagedDocument { .. }), "{error:?}");
    assert_eq!(store.repair(NAME).await.unwrap().incomplete, ["a"]);
    assert_eq!(store.delete(NAME, vec!["a".to_owned()]).await.unwrap(), 1);
    store.repair(NAME).await.unwrap();
    // The record, the section and the passage of the other one.
    assert_eq!(
        (store.repair(NAME).await.unwrap(), server.points(NAME)),
        (Repaired::default(), 3)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lost_its_record_is_seen_by_nobody_and_removed_by_a_repair() {
    let (server, _, store) = filled().await;
    assert_eq!(server.lose(NAME, &[("kind", "document")]), 2);
    assert_eq!(store.search(NAME, dense(1, 10, Unit::Chunk)).await.unwrap(), []);
    assert_eq!(store.documents(NAME, "", 10).await.unwrap(), []);
    let expected = Repaired {
        removed: 4 + 2 + 1 + 1,
        ..Repaired::default()
    };
    assert_eq!(store.repair(NAME).await.unwrap(), expected);
    assert_eq!(server.points(NAME), 0);
    assert_eq!(store.repair(NAME).await.unwrap(), Repaired::default());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_that_is_removed_while_a_document_is_written_says_so() {
    let (server, url, _) = filled().await;
    let gate = Gate::default();
    let writing = store_at(&proxy::start(&url, gate.clone()).await);
    // At its first change, when it knows that the collection is there.
    let beneath = server.clone();
    gate.before("Upsert", move || assert!(beneath.remove(NAME)));
    let error = put(&writing, "a", 7).await.unwrap_err();
    assert!(
        matches!(&error, StoreError::Removed { name } if name == NAME),
        "{error:?}"
    );
    assert_eq!(
        (error.code(), error.reason()),
        (Code::Unavailable, Reason::ChangedMeanwhile)
    );
    assert_eq!(error.resource(), Some(Resource::collection(NAME)));
    assert!(
        error.to_string().contains("\"notes\" was removed meanwhile: try again"),
        "{error}"
    );
    assert_eq!(server.names(), [""; 0]);
    // Tried again, it makes the collection, with its fields indexed.
    put(&writing, "a", 7).await.unwrap();
    assert_eq!(writing.search(NAME, dense(7, 1, Unit::Chunk)).await.unwrap().len(), 1);
}

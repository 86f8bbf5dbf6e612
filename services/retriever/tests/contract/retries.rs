//! A server that is away for a moment is asked again, a few times; one that says nothing is left after a limit.

use std::time::Duration;

use emend_core::{Code, ServiceError};
use emend_retriever::backend::qdrant::{QdrantSettings, QdrantStore, Timing};
use emend_retriever::backend::{StoreError, VectorStore};

use crate::proxy::{self, Break, Gate};
use crate::subject::{AT_ONCE, Qdrant, document, embedder};

/// Tries of a call.
const TRIES: usize = 4;

/// A store behind a proxy that it has not called yet.
async fn behind(server: &Qdrant, timing: Timing) -> (QdrantStore, Gate) {
    let gate = Gate::default();
    let through = proxy::start(&server.url, gate.clone()).await;
    (server.store_at(&through, timing), gate)
}

async fn put(store: &QdrantStore, seed: u64) -> Result<(), StoreError> {
    let new = document("a", seed, &[("words", seed as u32)]);
    store.put("notes", &embedder(), new).await
}

/// Chunks of the document, as another retriever sees it.
async fn passages(server: &Qdrant) -> Option<u32> {
    let stored = server.store(AT_ONCE).stored("notes", "a").await.unwrap();
    stored.map(|stored| stored.passages)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_finds_the_server_away_three_times_succeeds_and_four_times_fails() {
    let server = Qdrant::start().await;
    put(&server.store(AT_ONCE), 1).await.unwrap();
    let (store, gate) = behind(&server, AT_ONCE).await;
    put(&store, 1).await.unwrap();
    let methods = gate.seen();
    // The first of several alike, and every change of a record.
    let wanted = |calls: usize| calls == 0 || methods[calls] != methods[calls - 1];
    let mut seed = 1;
    for calls in (0..methods.len()).filter(|calls| wanted(*calls)) {
        // Another store each time: the first call asks for the version.
        let (store, gate) = behind(&server, AT_ONCE).await;
        seed += 1;
        gate.break_after(calls, Break::Unavailable(TRIES - 1));
        put(&store, seed).await.unwrap();
        assert_eq!(passages(&server).await, Some(seed as u32), "call {calls}");
        let seen = gate.seen();
        assert!(
            seen[calls..calls + TRIES].iter().all(|method| *method == seen[calls]),
            "{seen:?}"
        );

        let (store, gate) = behind(&server, AT_ONCE).await;
        gate.break_after(calls, Break::Unavailable(TRIES));
        let failed = put(&store, seed + 1).await;
        let seen = gate.seen();
        let now = passages(&server).await.unwrap();
        match failed {
            // What is cleaned up afterwards is cleaned up another time.
            Ok(()) => {
                assert_eq!(u64::from(now), seed + 1, "{seen:?}");
                seed += 1;
            }
            Err(error) => {
                let text = error.to_string();
                assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
                assert_eq!(error.code(), Code::Unavailable);
                assert!(
                    text.contains("the server is away") && text.contains("try again"),
                    "{text}"
                );
                assert_eq!(seen.len(), calls + TRIES, "{seen:?}");
                // Published, or not: whole in either case.
                assert!(u64::from(now) == seed || u64::from(now) == seed + 1, "{now}");
                seed = u64::from(now);
            }
        }
    }
    // Whatever the failures left is removed: a record, a section and the passages are there.
    let last = server.store(AT_ONCE);
    last.repair("notes").await.unwrap();
    if let Some(points) = server.points("notes") {
        assert_eq!(points as u64, 2 + seed);
    }
    last.delete_collection("notes").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_refuses_is_not_asked_again() {
    let server = Qdrant::start().await;
    put(&server.store(AT_ONCE), 1).await.unwrap();
    let (store, gate) = behind(&server, AT_ONCE).await;
    gate.break_after(1, Break::Before);
    let error = store
        .search(
            "notes",
            crate::subject::dense(1, 1, emend_retriever::backend::Unit::Chunk),
        )
        .await;
    let error = error.unwrap_err();
    assert!(matches!(error, StoreError::Server { .. }), "{error:?}");
    assert_eq!(gate.seen(), ["HealthCheck", "ListAliases"]);
    server.store(AT_ONCE).delete_collection("notes").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_hangs_ends_by_its_limit_and_leaves_a_whole_document() {
    let server = Qdrant::start().await;
    let living = server.store(AT_ONCE);
    // What was replaced is left to others, whose limit this is not.
    let short = Timing {
        grace: Duration::from_secs(3600),
        write: Duration::from_millis(100),
        ..AT_ONCE
    };
    for calls in 0.. {
        put(&living, 1).await.unwrap();
        let (store, gate) = behind(&server, short).await;
        gate.break_after(calls, Break::Hang);
        let done = put(&store, 2).await;
        let now = passages(&server).await;
        if !gate.is_broken() {
            break;
        }
        match done {
            Err(StoreError::Unreachable { reason, .. }) => {
                assert!(reason.contains("not written in time"), "{reason}");
                assert!(now == Some(1) || now == Some(2), "call {calls}: {now:?}");
            }
            done => panic!("call {calls} of {:?}: {done:?}", gate.seen()),
        }
        put(&living, 3).await.unwrap();
        assert_eq!(passages(&server).await, Some(3));
        if let Some(points) = server.points("notes") {
            assert_eq!(points, 2 + 3, "call {calls} of {:?}", gate.seen());
        }
    }
    living.delete_collection("notes").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_hangs_ends_by_its_limit_and_is_not_made_again() {
    let server = Qdrant::start().await;
    let gate = Gate::default();
    let through = proxy::start(&server.url, gate.clone()).await;
    let settings = QdrantSettings {
        url: through,
        prefix: server.prefix.clone(),
        timeout: Duration::from_millis(200),
        ..Qdrant::settings()
    };
    let store = QdrantStore::new(settings).unwrap();
    // The server knows the limit too, and may be first to say that it is over.
    let by_server = [tonic::Code::Cancelled, tonic::Code::DeadlineExceeded].map(Break::OutOfTime);
    for how in [Break::Hang].into_iter().chain(by_server) {
        gate.break_after(0, how);
        let error = store.collections().await.unwrap_err();
        assert!(matches!(&error, StoreError::Unreachable { .. }), "{error:?}");
        assert!(error.to_string().contains("no answer within 200ms"), "{error}");
        assert_eq!(gate.seen(), ["HealthCheck"]);
    }
}

//! A retriever that dies between any two calls to the server, or right after one: every document is whole, in its old
//! version or its new one, and what is left behind is cleaned up. So are collections: see [`collections`].

mod collections;

use emend_retriever::backend::qdrant::QdrantStore;
use emend_retriever::backend::{NewDocument, StoreError, Unit, VectorStore};

use crate::proxy::{self, Break, Gate};
use crate::subject::{AT_ONCE, Qdrant, dense, document, embedder};

/// A server, a retriever behind a proxy, and another one that lives.
struct Scene {
    server: Qdrant,
    gate: Gate,
    dying: QdrantStore,
    living: QdrantStore,
}

impl Scene {
    async fn new() -> Self {
        let server = Qdrant::start().await;
        let gate = Gate::default();
        let through = proxy::start(&server.url, gate.clone()).await;
        let dying = server.store_at(&through, AT_ONCE);
        let living = server.store(AT_ONCE);
        Self {
            server,
            gate,
            dying,
            living,
        }
    }

    /// Leaves a version of a document behind whose writer died when all its points were written.
    async fn leave_behind(&self, collection: &str, id: &str) {
        let put = async |calls| {
            self.gate.break_after(calls, Break::After);
            self.dying.put(collection, &embedder(), version(id, 2)).await
        };
        let old = self.living.read(collection, id).await.unwrap();
        // The second time it knows that the fields are indexed. Announced, then written.
        put(usize::MAX).await.unwrap();
        put(usize::MAX).await.unwrap();
        let seen = self.gate.seen();
        let mut upserts = seen.iter().enumerate().filter(|(_, method)| *method == "Upsert");
        let (written, _) = upserts.nth(1).unwrap();
        match old {
            Some(old) => self.living.put(collection, &embedder(), old).await.unwrap(),
            None => drop(self.living.delete(collection, vec![id.to_owned()]).await.unwrap()),
        }
        put(written).await.unwrap_err();
    }

    /// Everything that a document shows: nothing, or one version, whole.
    async fn version(&self, collection: &str, id: &str) -> Option<u32> {
        let read = match self.living.read(collection, id).await {
            Err(StoreError::UnknownCollection { .. }) => return None,
            read => read.unwrap(),
        };
        let hits = self
            .living
            .search(collection, dense(1, 100, Unit::Chunk))
            .await
            .unwrap();
        let hits: Vec<_> = hits.iter().filter(|hit| hit.document == id).collect();
        let stored = self.living.stored(collection, id).await.unwrap();
        let listed = self.living.documents(collection, "", 1000).await.unwrap();
        let listed = listed.iter().find(|document| document.id == id);
        let Some(read) = read else {
            assert_eq!((hits.len(), stored, listed), (0, None, None), "{id}");
            return None;
        };
        let chunks = read.chunks.len();
        assert_eq!(hits.len(), chunks, "{id}: {hits:?}");
        assert!(hits.iter().all(|hit| hit.source == read.source), "{id}: {hits:?}");
        assert_eq!(stored.unwrap().passages as usize, chunks);
        assert_eq!(stored.unwrap().fingerprint, read.fingerprint);
        assert_eq!(listed.unwrap().passages as usize, chunks);
        Some(read.source.parse().unwrap())
    }
}

/// A version of a document: as many sections of one chunk each as its number says, and two more.
fn version(id: &str, number: u32) -> NewDocument {
    let texts: Vec<String> = (0..number + 2).map(|part| format!("{id} {number} {part}")).collect();
    let sections: Vec<(&str, u32)> = texts.iter().map(|text| (text.as_str(), 1)).collect();
    let mut document = document(id, u64::from(number) * 100, &sections);
    document.source = number.to_string();
    document
}

/// Points of a version: its record, sections and passages.
fn points(number: u32) -> usize {
    1 + 2 * (number as usize + 2)
}

/// What the dying retriever does to a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Put,
    Delete,
    /// Of its collection, where another one has died before it became visible in a new version.
    Repair,
}

/// How what is left behind is cleaned up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cleaned {
    ByTheNextWrite,
    ByRepair,
}

async fn dies_at_every_call(deed: Deed, old: Option<u32>, how: Break, cleaned: Cleaned) {
    let scene = Scene::new().await;
    // So that the collection is there.
    let other = version("other", 7);
    scene.dying.put("notes", &embedder(), other).await.unwrap();
    let mut outcomes = std::collections::BTreeSet::new();
    for calls in 0.. {
        let id = format!("d{calls}");
        if let Some(old) = old {
            scene.living.put("notes", &embedder(), version(&id, old)).await.unwrap();
        }
        if deed == Deed::Repair {
            scene.leave_behind("notes", &id).await;
        }
        scene.gate.break_after(calls, how);
        let (done, new) = match deed {
            Deed::Put => (scene.dying.put("notes", &embedder(), version(&id, 2)).await, Some(2)),
            Deed::Delete => (scene.dying.delete("notes", vec![id.clone()]).await.map(drop), None),
            Deed::Repair => (scene.dying.repair("notes").await.map(drop), old),
        };
        let seen = scene.version("notes", &id).await;
        assert!(
            seen == old || seen == new,
            "call {calls}: {seen:?} of {:?}",
            scene.gate.seen()
        );
        if done.is_ok() {
            assert_eq!(seen, new, "call {calls}: acknowledged");
        }
        outcomes.insert(seen == new);
        assert_eq!(scene.version("notes", "other").await, Some(7));
        // Nothing but the document stays.
        let expected = match cleaned {
            Cleaned::ByRepair => {
                let repaired = scene.living.repair("notes").await.unwrap();
                assert_eq!(repaired.incomplete, [""; 0]);
                seen
            }
            Cleaned::ByTheNextWrite => {
                scene.living.put("notes", &embedder(), version(&id, 3)).await.unwrap();
                Some(3)
            }
        };
        assert_eq!(scene.version("notes", &id).await, expected);
        if let Some(there) = scene.server.points("notes") {
            let expected = expected.map_or(0, points);
            assert_eq!(there, points(7) + expected, "call {calls} of {:?}", scene.gate.seen());
        }
        scene.living.delete("notes", vec![id]).await.unwrap();
        if !scene.gate.is_broken() {
            break;
        }
    }
    // A repair changes nothing that is seen.
    let expected = if deed == Deed::Repair { 1 } else { 2 };
    assert_eq!(outcomes.len(), expected, "all outcomes were seen");
    scene.living.delete_collection("notes").await.unwrap();
}

macro_rules! deaths {
    ($($name:ident: $deed:ident $old:expr, $how:ident, $cleaned:ident;)*) => {
        $(#[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            dies_at_every_call(Deed::$deed, $old, Break::$how, Cleaned::$cleaned).await;
        })*
    };
}

deaths! {
    a_first_put_that_dies_before_a_call_is_nothing_or_whole: Put None, Before, ByTheNextWrite;
    a_first_put_that_dies_after_a_call_is_nothing_or_whole: Put None, After, ByTheNextWrite;
    a_first_put_that_dies_before_a_call_is_repaired: Put None, Before, ByRepair;
    a_first_put_that_dies_after_a_call_is_repaired: Put None, After, ByRepair;
    a_replacement_that_dies_before_a_call_is_old_or_new: Put Some(1), Before, ByTheNextWrite;
    a_replacement_that_dies_after_a_call_is_old_or_new: Put Some(1), After, ByTheNextWrite;
    a_replacement_that_dies_before_a_call_is_repaired: Put Some(1), Before, ByRepair;
    a_replacement_that_dies_after_a_call_is_repaired: Put Some(1), After, ByRepair;
    a_removal_that_dies_before_a_call_is_old_or_gone: Delete Some(1), Before, ByTheNextWrite;
    a_removal_that_dies_after_a_call_is_old_or_gone: Delete Some(1), After, ByTheNextWrite;
    a_removal_that_dies_before_a_call_is_repaired: Delete Some(1), Before, ByRepair;
    a_removal_that_dies_after_a_call_is_repaired: Delete Some(1), After, ByRepair;
    a_repair_that_dies_after_a_call_changes_nothing_and_the_next_write_goes_on: Repair Some(1), After, ByTheNextWrite;
    a_repair_that_dies_before_a_call_is_repaired: Repair Some(1), Before, ByRepair;
    a_repair_that_dies_after_a_call_is_repaired: Repair Some(1), After, ByRepair;
    a_repair_of_what_was_never_seen_that_dies_after_a_call_is_repaired: Repair None, After, ByRepair;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_whose_making_broke_off_is_made_by_the_next_write() {
    for how in [Break::Before, Break::After] {
        let scene = Scene::new().await;
        for calls in 0.. {
            let name = format!("notes{calls}");
            // Another retriever process each time: nothing is remembered.
            let through = proxy::start(&scene.server.url, scene.gate.clone()).await;
            let dying = scene.server.store_at(&through, AT_ONCE);
            scene.gate.break_after(calls, how);
            let done = dying.put(&name, &embedder(), version("a", 2)).await;
            let seen = scene.version(&name, "a").await;
            assert!(seen.is_none() || seen == Some(2), "call {calls}: {seen:?}");
            assert!(done.is_err() || seen == Some(2), "call {calls}: acknowledged");
            let through = scene.server.store(AT_ONCE);
            through.put(&name, &embedder(), version("a", 3)).await.unwrap();
            assert_eq!(scene.version(&name, "a").await, Some(3));
            if let Some(there) = scene.server.points(&name) {
                assert_eq!(there, points(3), "call {calls} of {:?}", scene.gate.seen());
            }
            scene.living.delete_collection(&name).await.unwrap();
            if !scene.gate.is_broken() {
                break;
            }
        }
    }
}

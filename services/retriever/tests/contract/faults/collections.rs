//! A retriever that dies while a copy takes its place or a collection is removed: readers see what was before or what
//! comes, whole, and no collection is left on the server that nobody could remove.

use std::collections::BTreeSet;

use super::*;

/// Documents of a collection.
const IDS: [&str; 3] = ["d0", "d1", "d2"];

/// What the dying retriever does to a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    /// Puts a copy in its place.
    Publish,
    /// Removes it.
    Delete,
}

/// What there was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    /// A collection that documents made.
    Made,
    /// One that a copy made.
    Copied,
}

impl Scene {
    /// Fills a collection with documents of this version.
    async fn fill(&self, collection: &str, number: u32) {
        for id in IDS {
            let new = version(id, number);
            self.living.put(collection, &embedder(), new).await.unwrap();
        }
    }

    /// Makes a copy of this version, and puts it in its place.
    async fn copy(&self, name: &str, number: u32) {
        let draft = self.living.draft(name).await.unwrap();
        self.fill(&draft, number).await;
        self.living.publish(&draft, name).await.unwrap();
    }

    /// The version of all documents; `None` where there is no such collection.
    async fn seen(&self, name: &str) -> Option<u32> {
        let mut versions = BTreeSet::new();
        for id in IDS {
            versions.insert(self.version(name, id).await);
        }
        assert_eq!(versions.len(), 1, "{name}: {versions:?}");
        let version = versions.pop_first().unwrap();
        let infos = self.living.collections().await.unwrap();
        let documents = infos.iter().find(|info| info.name == name).map(|info| info.documents);
        assert_eq!(documents, version.map(|_| IDS.len() as u64));
        version
    }

    /// What is on the server of a collection: itself, its alias, its copies. Unknown where only the stand-in could tell.
    fn left(&self, name: &str) -> Option<Vec<String>> {
        let names = self.server.stand_in.as_ref()?.names().into_iter();
        Some(names.filter(|known| known.ends_with(name)).collect())
    }
}

async fn dies_at_every_call(deed: Deed, before: Before, how: Break) {
    let scene = Scene::new().await;
    scene.dying.probe().await.unwrap();
    let mut outcomes = BTreeSet::new();
    for calls in 0.. {
        let name = format!("notes{calls}x");
        let old = match before {
            Before::Nothing => None,
            Before::Made => {
                scene.fill(&name, 1).await;
                Some(1)
            }
            Before::Copied => {
                scene.copy(&name, 1).await;
                Some(1)
            }
        };
        let (draft, new) = match (deed, before) {
            (Deed::Publish, _) => (Some(scene.living.draft(&name).await.unwrap()), Some(2)),
            // One that broke off goes with its collection.
            (Deed::Delete, Before::Copied) => (Some(scene.living.draft(&name).await.unwrap()), None),
            (Deed::Delete, _) => (None, None),
        };
        if let Some(draft) = &draft {
            scene.fill(draft, 2).await;
        }
        scene.gate.break_after(calls, how);
        let done = match deed {
            Deed::Publish => scene.dying.publish(draft.as_ref().unwrap(), &name).await,
            Deed::Delete => scene.dying.delete_collection(&name).await.map(drop),
        };
        let methods = scene.gate.seen();
        let seen = scene.seen(&name).await;
        assert!(seen == old || seen == new, "call {calls}: {seen:?} of {methods:?}");
        assert!(done.is_err() || seen == new, "call {calls}: acknowledged, {methods:?}");
        outcomes.insert(seen);
        match deed {
            // The next copy takes the place of both.
            Deed::Publish => {
                scene.copy(&name, 3).await;
                assert_eq!(scene.seen(&name).await, Some(3));
                if let Some(left) = scene.left(&name) {
                    assert_eq!(left.len(), 2, "an alias and a copy: {left:?} after {methods:?}");
                }
                scene.living.delete_collection(&name).await.unwrap();
            }
            // What is not seen any more is gone, and what is can be removed again.
            Deed::Delete => match scene.living.delete_collection(&name).await {
                Ok(documents) => assert_eq!((seen, documents), (old, IDS.len() as u64)),
                Err(error) => {
                    assert!(matches!(error, StoreError::UnknownCollection { .. }), "{error}");
                    assert_eq!(seen, None);
                }
            },
        }
        if let Some(left) = scene.left(&name) {
            assert_eq!(left, [""; 0], "call {calls} of {methods:?}");
        }
        // The name can be used again, by documents.
        scene.fill(&name, 4).await;
        assert_eq!(scene.seen(&name).await, Some(4));
        scene.living.delete_collection(&name).await.unwrap();
        if !scene.gate.is_broken() {
            break;
        }
    }
    assert_eq!(outcomes.len(), 2, "both outcomes were seen: {outcomes:?}");
}

macro_rules! deaths {
    ($($name:ident: $deed:ident $before:ident $how:ident;)*) => {
        $(#[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            dies_at_every_call(Deed::$deed, Before::$before, Break::$how).await;
        })*
    };
}

deaths! {
    a_first_copy_whose_publishing_dies_before_a_call_is_nothing_or_whole: Publish Nothing Before;
    a_first_copy_whose_publishing_dies_after_a_call_is_nothing_or_whole: Publish Nothing After;
    a_copy_whose_publishing_dies_before_a_call_is_old_or_new: Publish Copied Before;
    a_copy_whose_publishing_dies_after_a_call_is_old_or_new: Publish Copied After;
    a_removal_of_a_collection_that_dies_before_a_call_is_whole_or_gone: Delete Made Before;
    a_removal_of_a_collection_that_dies_after_a_call_is_whole_or_gone: Delete Made After;
    a_removal_of_a_copy_that_dies_before_a_call_is_whole_or_gone: Delete Copied Before;
    a_removal_of_a_copy_that_dies_after_a_call_is_whole_or_gone: Delete Copied After;
}

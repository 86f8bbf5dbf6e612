use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use emend_core::{Deadline, Scope};
use emend_models::embed::{Embedder as _, Embedding, HashedEmbedder, Input};
use emend_proto::v1::{Document, IngestResponse, IngestStatus};
use tokio_util::sync::CancellationToken;

use crate::backend::EdgeStore;
use crate::library::Library;
use crate::split::SplitSettings;

const ID: &str = "leave.md";

struct Retriever(Library);

impl Retriever {
    fn over(folder: &Path) -> Self {
        let store = Arc::new(EdgeStore::open(folder).unwrap());
        let split = SplitSettings {
            chunk: 16,
            overlap: 0,
            section: 32,
        };
        Self(Library::new(store, Arc::new(HashedEmbedder), split, true, "emend"))
    }

    async fn ingest(&self, collection: &str, text: &str, words_only: bool) -> IngestResponse {
        let document = Document {
            id: ID.to_owned(),
            content: text.into(),
            ..Document::default()
        };
        let scope = Scope {
            deadline: Deadline::after(Duration::from_secs(60)),
            cancel: CancellationToken::new(),
        };
        let ingesting = self.0.ingest(collection.to_owned(), document, words_only, &scope);
        let done = ingesting.await.unwrap();
        assert_eq!((done.status(), &*done.error), (IngestStatus::Ingested, ""));
        done
    }

    /// Marks all embeddings of the document in a collection, as no embedder makes them: what keeps the mark was not embedded
    /// again.
    async fn mark(&self, collection: &str) {
        let mut document = self.0.store.read(collection, ID).await.unwrap().unwrap();
        for chunk in &mut document.chunks {
            chunk.embedding = Some(mark());
        }
        let embedder = self.0.embedder_info();
        self.0.store.put(collection, &embedder, document).await.unwrap();
    }

    /// The texts of the document in a collection that have the mark, and those that were embedded.
    async fn marked_and_embedded(&self, collection: &str) -> (Vec<String>, Vec<String>) {
        let document = self.0.store.read(collection, ID).await.unwrap().unwrap();
        let text = |chunk| super::embedded_text(&document, chunk).unwrap();
        let (marked, embedded): (Vec<_>, Vec<_>) = document
            .chunks
            .iter()
            .partition(|chunk| chunk.embedding.as_ref() == Some(&mark()));
        for chunk in &embedded {
            let own = HashedEmbedder.embed(Input::Passage, vec![text(chunk)]).await.unwrap();
            assert_eq!(chunk.embedding.as_ref(), own.first());
        }
        (
            marked.into_iter().map(text).collect(),
            embedded.into_iter().map(text).collect(),
        )
    }
}

fn mark() -> Embedding {
    let mut mark = vec![0.0; HashedEmbedder.dimensions()];
    mark[0] = 1.0;
    mark.into()
}

/// A document of three sections.
fn handbook(last: &str) -> String {
    let section = |subject: &str| {
        format!(
            "## {subject}\n\n{}\n\n",
            format!("Whoever asks about {subject} reads this sentence twice. ").repeat(2)
        )
    };
    ["# Handbook\n\n", &section("leave"), &section("travel"), &section(last)].concat()
}

#[tokio::test]
async fn of_a_document_that_changed_what_is_new_is_embedded() {
    let folder = tempfile::tempdir().unwrap();
    let retriever = Retriever::over(folder.path());
    assert!(retriever.ingest("notes", &handbook("tools"), false).await.passages > 2);
    retriever.mark("notes").await;
    // One part among others that stay, also where another one moves them.
    let first = "# Handbook\n\n## Who to ask\n\nAsk the office for all of it.\n\n";
    let changed = handbook("keys").replace("# Handbook\n\n", first);
    retriever.ingest("notes", &changed, false).await;
    let (kept, new) = retriever.marked_and_embedded("notes").await;
    let about = |texts: &[String], subject: &str| texts.iter().any(|text| text.contains(subject));
    assert!(about(&kept, "leave") && about(&kept, "travel"), "{kept:?}");
    assert!(about(&new, "keys") && about(&new, "office"), "{new:?}");
    assert!(!about(&kept, "keys") && !about(&new, "travel"), "{kept:?} {new:?}");
}

#[tokio::test]
async fn a_document_that_another_collection_has_is_not_embedded_again() {
    let folder = tempfile::tempdir().unwrap();
    let retriever = Retriever::over(folder.path());
    let text = handbook("tools");
    // By its words alone it is of no help.
    assert!(retriever.ingest("early", &text, true).await.words_only);
    retriever.ingest("all", &text, false).await;
    retriever.mark("all").await;
    // Nothing is left to be embedded later either.
    assert!(!retriever.ingest("some", &text, true).await.words_only);
    assert!(!retriever.ingest("early", &text, false).await.words_only);
    for collection in ["some", "early"] {
        assert_eq!(
            retriever.marked_and_embedded(collection).await.1,
            [""; 0],
            "{collection}"
        );
    }
    // Some of it is not all of it.
    let changed = handbook("keys");
    assert!(retriever.ingest("some", &changed, true).await.words_only);
    retriever.ingest("other", &changed, false).await;
    let (kept, new) = retriever.marked_and_embedded("other").await;
    assert!(!kept.is_empty() && !new.is_empty(), "{kept:?} {new:?}");
    assert!(new.iter().all(|text| text.contains("keys")), "{new:?}");
}

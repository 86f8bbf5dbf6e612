use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use emend_core::{Deadline, Scope};
use emend_models::embed::{EmbedError, Embedder, Embedding, HashedEmbedder, Input};
use emend_proto::v1::{Document, IngestResponse, IngestStatus};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::backend::{EdgeStore, VectorStore};
use crate::library::Library;
use crate::split::SplitSettings;

/// Notes what it embeds.
#[derive(Default)]
struct Noting(Mutex<Vec<String>>);

impl Noting {
    /// What was embedded since this was asked last.
    fn texts(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Embedder for Noting {
    fn id(&self) -> &str {
        "noting"
    }

    fn dimensions(&self) -> usize {
        HashedEmbedder.dimensions()
    }

    fn max_tokens(&self) -> usize {
        HashedEmbedder.max_tokens()
    }

    fn count_tokens(&self, text: &str) -> usize {
        HashedEmbedder.count_tokens(text)
    }

    fn embed<'a>(&'a self, kind: Input, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<Embedding>, EmbedError>> {
        let mut embedded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        embedded.extend(texts.iter().cloned());
        HashedEmbedder.embed(kind, texts)
    }
}

struct Retriever {
    library: Library,
    embedder: Arc<Noting>,
}

impl Retriever {
    fn over(folder: &Path) -> Self {
        let store: Arc<dyn VectorStore> = Arc::new(EdgeStore::open(folder).unwrap());
        let embedder = Arc::new(Noting::default());
        let split = SplitSettings {
            chunk: 16,
            overlap: 0,
            section: 32,
        };
        Self {
            library: Library::new(store, embedder.clone(), split, true, "emend"),
            embedder,
        }
    }

    async fn ingest(&self, collection: &str, text: &str, words_only: bool) -> IngestResponse {
        let document = Document {
            id: "leave.md".to_owned(),
            content: text.into(),
            ..Document::default()
        };
        let scope = Scope {
            deadline: Deadline::after(Duration::from_secs(60)),
            cancel: CancellationToken::new(),
        };
        let ingesting = self.library.ingest(collection.to_owned(), document, words_only, &scope);
        let done = ingesting.await.unwrap();
        assert_eq!((done.status(), &*done.error), (IngestStatus::Ingested, ""));
        done
    }

    /// The embeddings of the document in a collection, in order.
    async fn embeddings(&self, collection: &str) -> Vec<Embedding> {
        let document = self.library.store.read(collection, "leave.md").await.unwrap().unwrap();
        let embeddings = document.chunks.into_iter().map(|chunk| chunk.embedding.unwrap());
        embeddings.collect()
    }
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
    let first = retriever.ingest("notes", &handbook("tools"), false).await;
    let all = retriever.embedder.texts();
    assert!(first.passages > 2 && all.len() == first.passages as usize, "{all:?}");

    // One part among others that stay, also where it moves them.
    let changed = handbook("keys").replace(
        "# Handbook\n\n",
        "# Handbook\n\n## Who to ask\n\nAsk the office for all of it.\n\n",
    );
    let second = retriever.ingest("notes", &changed, false).await;
    let new = retriever.embedder.texts();
    assert!(!new.is_empty() && new.len() < second.passages as usize, "{new:?}");
    assert!(new.iter().all(|text| !all.contains(text)), "{new:?}");
    assert!(new.iter().any(|text| text.contains("keys")), "{new:?}");
    // Each passage has its own embedding.
    let other = tempfile::tempdir().unwrap();
    let fresh = Retriever::over(other.path());
    fresh.ingest("notes", &changed, false).await;
    assert_eq!(retriever.embeddings("notes").await, fresh.embeddings("notes").await);
}

#[tokio::test]
async fn a_document_that_another_collection_has_is_not_embedded_again() {
    let folder = tempfile::tempdir().unwrap();
    let retriever = Retriever::over(folder.path());
    let text = handbook("tools");
    // By its words alone it is of no help.
    assert!(retriever.ingest("early", &text, true).await.words_only);
    retriever.ingest("all", &text, false).await;
    assert!(!retriever.embedder.texts().is_empty());
    // Nothing is left to be embedded later either.
    assert!(!retriever.ingest("some", &text, true).await.words_only);
    assert!(!retriever.ingest("early", &text, false).await.words_only);
    assert_eq!(retriever.embedder.texts(), [""; 0]);
    assert_eq!(retriever.embeddings("some").await, retriever.embeddings("all").await);
    // Some of it is not all of it.
    let changed = handbook("keys");
    assert!(retriever.ingest("some", &changed, true).await.words_only);
    retriever.ingest("other", &changed, false).await;
    let new = retriever.embedder.texts();
    assert!(
        !new.is_empty() && new.iter().all(|text| text.contains("keys")),
        "{new:?}"
    );
}

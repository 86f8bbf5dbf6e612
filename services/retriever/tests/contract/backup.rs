//! What `deploy/README.md` says of a backup: an export of a running store answers in any other one.

use std::sync::Arc;

use clap::Parser;
use emend_proto::v1::retriever_service_client::RetrieverServiceClient;
use emend_proto::v1::{
    DeleteDocumentsRequest, Document, ExportCollectionRequest, ImportCollectionRequest, IngestRequest, IngestStatus,
    Passage, RetrieveRequest,
};
use emend_retriever::backend::VectorStore;
use emend_retriever::{Options, serve_store};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use crate::subject::Subject;

/// A retriever over a store.
struct Retriever {
    client: RetrieverServiceClient<Channel>,
    shutdown: CancellationToken,
    served: JoinHandle<()>,
}

impl Retriever {
    async fn over(store: Arc<dyn VectorStore>) -> Self {
        let options = Options::parse_from(["emend-retriever", "--embedder", "hashed"]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let shutdown = CancellationToken::new();
        let ended = shutdown.clone();
        let served = tokio::spawn(async move { serve_store(store, options, listener, ended).await.unwrap() });
        let channel = Channel::from_shared(address).unwrap().connect().await.unwrap();
        let client = RetrieverServiceClient::new(channel);
        Self {
            client,
            shutdown,
            served,
        }
    }

    /// Stops, and closes the store.
    async fn stop(self) {
        drop(self.client);
        self.shutdown.cancel();
        self.served.await.unwrap();
    }

    async fn ingest(&mut self, documents: impl IntoIterator<Item = (String, String)>) {
        let requests: Vec<_> = documents
            .into_iter()
            .map(|(id, text)| IngestRequest {
                collection: "books".to_owned(),
                document: Some(Document {
                    id,
                    content: text.into_bytes(),
                    ..Document::default()
                }),
                ..IngestRequest::default()
            })
            .collect();
        let answers = self.client.ingest(tokio_stream::iter(requests)).await;
        let mut answers = answers.unwrap().into_inner();
        while let Some(answer) = answers.message().await.unwrap() {
            assert_eq!(answer.status(), IngestStatus::Ingested, "{}", answer.error);
        }
    }

    /// A collection as the requests that make it again, called `name`.
    async fn export(&mut self, collection: &str, name: &str) -> Vec<ImportCollectionRequest> {
        let request = ExportCollectionRequest {
            collection: collection.to_owned(),
            ..ExportCollectionRequest::default()
        };
        let mut parts = self.client.export_collection(request).await.unwrap().into_inner();
        let mut all = Vec::new();
        while let Some(part) = parts.message().await.unwrap() {
            all.push(ImportCollectionRequest {
                collection: name.to_owned(),
                embedder: part.embedder,
                document: part.document,
                last: part.last,
            });
        }
        all
    }

    async fn import(&mut self, requests: Vec<ImportCollectionRequest>) {
        let answers = self.client.import_collection(tokio_stream::iter(requests)).await;
        let mut answers = answers.unwrap().into_inner();
        while let Some(answer) = answers.message().await.unwrap() {
            assert_eq!(answer.status(), IngestStatus::Ingested, "{}", answer.error);
        }
    }

    async fn answers(&mut self, collection: &str) -> Vec<Vec<Passage>> {
        let mut all = Vec::new();
        for query in [
            "When is the lantern lit?",
            "What does bread need?",
            "나무는 크다",
            "number 17",
        ] {
            let request = RetrieveRequest {
                query: query.to_owned(),
                collection: collection.to_owned(),
                ..RetrieveRequest::default()
            };
            let found = self.client.retrieve(request).await.unwrap();
            all.push(found.into_inner().passages);
        }
        all
    }
}

pub(crate) async fn an_export_answers_in_another_store_and_back_in_this_one(subject: &Subject) {
    let mut live = Retriever::over(Arc::clone(&subject.store)).await;
    let numbered = (0..30).map(|number| (format!("n{number}"), format!("This is number {number} of the books.")));
    live.ingest(numbered).await;
    let first = [
        (
            "a.md",
            "# Lanterns\n\n## Towers\n\nThe lantern of the tower is lit at dusk.",
        ),
        ("b.md", "Bread needs flour."),
        ("c", "나무는 크다"),
    ];
    live.ingest(first.map(|(id, text)| (id.to_owned(), text.to_owned())))
        .await;
    // What was replaced and what was removed is in no backup.
    live.ingest([(
        "b.md".to_owned(),
        "Bread needs flour, water, salt and yeast.".to_owned(),
    )])
    .await;
    let removed = DeleteDocumentsRequest {
        collection: "books".to_owned(),
        document_ids: vec!["n17".to_owned()],
    };
    live.client.delete_documents(removed).await.unwrap();
    let before = live.answers("books").await;
    assert!(before[1][0].text.contains("yeast"), "{before:?}");

    let other = Subject::edge();
    let mut restored = Retriever::over(Arc::clone(&other.store)).await;
    restored.import(live.export("books", "books").await).await;
    assert_eq!(restored.answers("books").await, before);
    live.import(restored.export("books", "again").await).await;
    assert_eq!(live.answers("again").await, before);
    restored.stop().await;
    // Its store is the subject's, who closes it.
    live.served.abort();
}

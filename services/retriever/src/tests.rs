//! The service over a real socket.

mod backup;
mod collections;
mod copies;
mod errors;
mod ingest;
mod keys;
mod read_back;
mod retrieve;
mod shared_server;

use std::path::Path;

use clap::Parser;
use emend_proto::v1::retriever_service_client::RetrieverServiceClient;
use emend_proto::v1::{DeleteDocumentsRequest, Document, IngestRequest, IngestResponse, IngestStatus, RetrieveRequest};
use emend_test_qdrant::Server as Qdrant;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use super::*;

/// Where collections are kept while retrievers come and go.
enum Place {
    /// A folder, for one retriever at a time.
    Edge(tempfile::TempDir),
    /// A stand-in for a Qdrant server, and its address.
    Qdrant(Qdrant, String),
}

impl Place {
    fn edge() -> Self {
        Self::Edge(tempfile::tempdir().unwrap())
    }

    async fn qdrant() -> Self {
        let (server, url) = Qdrant::start().await;
        Self::Qdrant(server, url)
    }

    /// A retriever's options.
    fn options(&self, more: &[&str]) -> Options {
        let place = match self {
            Self::Edge(folder) => ["--data-dir", folder.path().to_str().unwrap()].to_vec(),
            Self::Qdrant(_, url) => ["--store", "qdrant", "--qdrant-url", url].to_vec(),
        };
        Options::parse_from([&["emend-retriever", "--embedder", "hashed"], &*place, more].concat())
    }

    /// A retriever over it.
    async fn start(&self, more: &[&str]) -> Running {
        Running::with(self.options(more), serve).await
    }

    /// The store alone.
    async fn store(&self) -> Arc<dyn VectorStore> {
        let nobody = Holder {
            orchestrator: None,
            retriever: None,
        };
        open_store(&self.options(&[]), &nobody).await.unwrap()
    }
}

/// A retriever on a port of its own.
struct Running {
    address: String,
    client: RetrieverServiceClient<Channel>,
    shutdown: CancellationToken,
    served: JoinHandle<Result<(), ServeError>>,
}

impl Running {
    async fn start(folder: &Path, arguments: &[&str]) -> Self {
        let folder = folder.to_str().unwrap();
        let fixed = ["emend-retriever", "--embedder", "hashed", "--data-dir", folder];
        Self::with(Options::parse_from([&fixed, arguments].concat()), serve).await
    }

    async fn with<F>(options: Options, serve: impl FnOnce(Options, TcpListener, CancellationToken) -> F) -> Self
    where
        F: Future<Output = Result<(), ServeError>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let shutdown = CancellationToken::new();
        let served = tokio::spawn(serve(options, listener, shutdown.clone()));
        let channel = Channel::from_shared(address.clone()).unwrap().connect().await.unwrap();
        let client = RetrieverServiceClient::new(channel).max_decoding_message_size(1 << 30);
        Self {
            address,
            client: client.max_encoding_message_size(1 << 30),
            shutdown,
            served,
        }
    }

    async fn stop(self) {
        drop(self.client);
        self.shutdown.cancel();
        self.served.await.unwrap().unwrap();
    }

    /// Sends documents to `default` and waits for all acknowledgements, in the order of the documents' ids.
    async fn ingest(&mut self, documents: impl IntoIterator<Item = Document>) -> Vec<IngestResponse> {
        let requests: Vec<_> = documents
            .into_iter()
            .map(|document| IngestRequest {
                collection: String::new(),
                document: Some(document),
                ..IngestRequest::default()
            })
            .collect();
        let mut answers = self
            .client
            .ingest(tokio_stream::iter(requests))
            .await
            .unwrap()
            .into_inner();
        let mut acknowledgements = Vec::new();
        while let Some(acknowledgement) = answers.message().await.unwrap() {
            acknowledgements.push(acknowledgement);
        }
        acknowledgements.sort_by(|left, right| left.document_id.cmp(&right.document_id));
        acknowledgements
    }

    /// As [`ingest`](Self::ingest), and all must be stored.
    async fn store(&mut self, documents: impl IntoIterator<Item = Document>) {
        for acknowledgement in self.ingest(documents).await {
            assert_eq!(
                acknowledgement.status(),
                IngestStatus::Ingested,
                "{}",
                acknowledgement.error
            );
        }
    }

    async fn retrieve(&mut self, request: RetrieveRequest) -> Vec<emend_proto::v1::Passage> {
        self.client.retrieve(request).await.unwrap().into_inner().passages
    }
}

fn document(id: &str, content: &str) -> Document {
    Document {
        id: id.into(),
        content: content.into(),
        ..Document::default()
    }
}

fn query(query: &str) -> RetrieveRequest {
    RetrieveRequest {
        query: query.into(),
        ..RetrieveRequest::default()
    }
}

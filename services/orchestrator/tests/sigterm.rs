//! SIGTERM in the middle of a call: the call finishes, then the process ends with 0.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    sync::Arc,
};

use emend_proto::v1::{
    AskRequest, DeleteDocumentsRequest, DeleteDocumentsResponse, GetCollectionRequest, GetCollectionResponse,
    GetDocumentRequest, GetDocumentResponse, IngestRequest, IngestResponse, ListCollectionsRequest,
    ListCollectionsResponse, ListDocumentsRequest, ListDocumentsResponse, Question, RetrieveRequest, RetrieveResponse,
    WalkStatus,
    orchestrator_service_client::OrchestratorServiceClient,
    retriever_service_server::{RetrieverService, RetrieverServiceServer},
};
use futures::stream::BoxStream;
use tokio::{net::TcpListener, sync::Semaphore};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, Streaming};

/// A retriever that finds nothing, once it is allowed to answer.
#[derive(Clone)]
struct Gated {
    called: Arc<Semaphore>,
    allowed: Arc<Semaphore>,
}

#[tonic::async_trait]
impl RetrieverService for Gated {
    type IngestStream = BoxStream<'static, Result<IngestResponse, Status>>;

    async fn retrieve(&self, _: Request<RetrieveRequest>) -> Result<Response<RetrieveResponse>, Status> {
        self.called.add_permits(1);
        drop(self.allowed.acquire().await);
        Ok(Response::new(RetrieveResponse::default()))
    }

    async fn ingest(&self, _: Request<Streaming<IngestRequest>>) -> Result<Response<Self::IngestStream>, Status> {
        Err(Status::unimplemented("not asked in this test"))
    }

    async fn delete_documents(
        &self,
        _: Request<DeleteDocumentsRequest>,
    ) -> Result<Response<DeleteDocumentsResponse>, Status> {
        Err(Status::unimplemented("not asked in this test"))
    }

    async fn list_documents(
        &self,
        _: Request<ListDocumentsRequest>,
    ) -> Result<Response<ListDocumentsResponse>, Status> {
        Err(Status::unimplemented("not asked in this test"))
    }

    async fn get_document(&self, _: Request<GetDocumentRequest>) -> Result<Response<GetDocumentResponse>, Status> {
        Err(Status::unimplemented("not asked in this test"))
    }

    async fn list_collections(
        &self,
        _: Request<ListCollectionsRequest>,
    ) -> Result<Response<ListCollectionsResponse>, Status> {
        Err(Status::unimplemented("not asked in this test"))
    }

    async fn get_collection(
        &self,
        _: Request<GetCollectionRequest>,
    ) -> Result<Response<GetCollectionResponse>, Status> {
        Err(Status::unimplemented("not asked in this test"))
    }

    async fn delete_collection(
        &self,
        _: Request<emend_proto::v1::DeleteCollectionRequest>,
    ) -> Result<Response<emend_proto::v1::DeleteCollectionResponse>, Status> {
        Err(Status::unimplemented("not asked in this test"))
    }

    async fn repair_collection(
        &self,
        _: Request<emend_proto::v1::RepairCollectionRequest>,
    ) -> Result<Response<emend_proto::v1::RepairCollectionResponse>, Status> {
        Err(Status::unimplemented("not asked in this test"))
    }

    type CopyCollectionStream = BoxStream<'static, Result<emend_proto::v1::CopyCollectionResponse, Status>>;

    async fn copy_collection(
        &self,
        _: Request<emend_proto::v1::CopyCollectionRequest>,
    ) -> Result<Response<Self::CopyCollectionStream>, Status> {
        Err(Status::unimplemented("not asked in this test"))
    }

    type ExportCollectionStream = BoxStream<'static, Result<emend_proto::v1::ExportCollectionResponse, Status>>;

    async fn export_collection(
        &self,
        _: Request<emend_proto::v1::ExportCollectionRequest>,
    ) -> Result<Response<Self::ExportCollectionStream>, Status> {
        Err(Status::unimplemented("not asked in this test"))
    }

    type ImportCollectionStream = BoxStream<'static, Result<emend_proto::v1::ImportCollectionResponse, Status>>;

    async fn import_collection(
        &self,
        _: Request<Streaming<emend_proto::v1::ImportCollectionRequest>>,
    ) -> Result<Response<Self::ImportCollectionStream>, Status> {
        Err(Status::unimplemented("not asked in this test"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_in_the_middle_of_sigterm_finishes() {
    let gate = Gated {
        called: Arc::new(Semaphore::new(0)),
        allowed: Arc::new(Semaphore::new(0)),
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let retriever = format!("http://{}", listener.local_addr().unwrap());
    let server = tonic::transport::Server::builder().add_service(RetrieverServiceServer::new(gate.clone()));
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));

    let mut orchestrator = Command::new(env!("CARGO_BIN_EXE_emend-orchestrator"))
        .args([
            "--listen",
            "127.0.0.1:0",
            "--log",
            "info",
            "--retriever-url",
            &retriever,
        ])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(orchestrator.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let serving = lines.by_ref().find(|line| line.contains("serving")).expect("it serves");
    let address = serving
        .split("address=")
        .nth(1)
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap()
        .to_owned();

    let upstream = emend_chassis::Upstream::new(&format!("http://{address}")).unwrap();
    let mut client = OrchestratorServiceClient::new(upstream.channel());
    let asking = tokio::spawn(async move {
        let question = Question {
            question: "Is anybody there?".to_owned(),
            graph: "plain-rag".to_owned(),
            ..Question::default()
        };
        client
            .ask(AskRequest {
                question: Some(question),
            })
            .await
    });
    drop(gate.called.acquire().await.unwrap());
    let id = orchestrator.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert!(lines.any(|line| line.contains("draining")), "it drains");
    gate.allowed.add_permits(1);

    let result = asking
        .await
        .unwrap()
        .expect("the call finishes")
        .into_inner()
        .result
        .unwrap();
    assert_eq!(result.status(), WalkStatus::Abstained);
    assert_eq!(orchestrator.wait().unwrap().code(), Some(0));
}

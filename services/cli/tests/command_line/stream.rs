//! A hundred thousand documents on their way through `emend ingest`.

use std::{
    fs,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use emend_proto::v1::{
    DeleteDocumentsRequest, DeleteDocumentsResponse, GetCollectionRequest, GetCollectionResponse, GetDocumentRequest,
    GetDocumentResponse, IngestRequest, IngestResponse, IngestStatus, ListCollectionsRequest, ListCollectionsResponse,
    ListDocumentsRequest, ListDocumentsResponse, RetrieveRequest, RetrieveResponse,
    retriever_service_server::{RetrieverService, RetrieverServiceServer},
};
use futures::{StreamExt as _, stream::BoxStream};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, Streaming};

use super::{Place, stderr, stdout};

/// Records of JSON Lines, and files of 4 MiB.
const RECORDS: u64 = 99_700;
const FILES: u64 = 300;
const FILE_BYTES: usize = 4 << 20;
/// Most memory that the command may take at any time, in KiB; the files alone have more.
const MAX_KIB: u64 = 1 << 20;

/// A retriever that takes documents and forgets them, and looks at the memory of their sender before it acknowledges one.
#[derive(Clone, Default)]
struct Forgetful {
    bytes: Arc<AtomicU64>,
    sender: Arc<AtomicU64>,
    most_kib: Arc<AtomicU64>,
}

impl Forgetful {
    fn take(&self, request: IngestRequest) -> IngestResponse {
        let document = request.document.unwrap_or_default();
        let before = self.bytes.fetch_add(document.content.len() as u64, Ordering::Relaxed);
        // Every hundred megabytes, and often among the small ones.
        if before / (100 << 20) != (before + document.content.len() as u64) / (100 << 20)
            || document.id.ends_with("000")
        {
            let status = format!("/proc/{}/status", self.sender.load(Ordering::Relaxed));
            let status = fs::read_to_string(status).unwrap_or_default();
            let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = most.and_then(|most| most.trim().trim_end_matches(" kB").parse().ok());
            self.most_kib.fetch_max(kib.unwrap_or_default(), Ordering::Relaxed);
        }
        IngestResponse {
            document_id: document.id,
            status: IngestStatus::Ingested.into(),
            error: String::new(),
            passages: 1,
        }
    }
}

#[tonic::async_trait]
impl RetrieverService for Forgetful {
    type IngestStream = BoxStream<'static, Result<IngestResponse, Status>>;

    async fn ingest(&self, request: Request<Streaming<IngestRequest>>) -> Result<Response<Self::IngestStream>, Status> {
        let this = self.clone();
        let answers = request.into_inner().map(move |sent| Ok(this.take(sent?)));
        Ok(Response::new(answers.boxed()))
    }

    async fn retrieve(&self, _: Request<RetrieveRequest>) -> Result<Response<RetrieveResponse>, Status> {
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
async fn a_hundred_thousand_documents_take_a_bounded_memory() {
    let retriever = Forgetful::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let service = RetrieverServiceServer::new(retriever.clone()).max_decoding_message_size(64 << 20);
    let server = tonic::transport::Server::builder().add_service(service);
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));

    let place = Place::new();
    fs::remove_file(place.docs.path().join("leave.md")).unwrap();
    let record = |number: u64| format!("{{\"id\":\"{number}\",\"text\":\"the text of record {number}\"}}\n");
    place.write("records.jsonl", &(0..RECORDS).map(record).collect::<String>());
    // One text under many names: 1.2 GiB to send, and 4 MiB on the disk.
    let first = place.write("texts/0.txt", &"many words ".repeat(FILE_BYTES / 11));
    for number in 1..FILES {
        fs::hard_link(&first, place.docs.path().join(format!("texts/{number}.txt"))).unwrap();
    }
    let docs = place.docs.path().to_str().unwrap();
    let mut command = place.emend(&["ingest", "--json", "--strict", "--url", &url, docs]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    retriever.sender.store(child.id().into(), Ordering::Relaxed);
    let output = tokio::task::spawn_blocking(|| child.wait_with_output())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let summary: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(summary["ingested"], RECORDS + FILES);
    let sent = retriever.bytes.load(Ordering::Relaxed);
    assert!(sent > (MAX_KIB << 10), "{sent} bytes were sent");
    let most = retriever.most_kib.load(Ordering::Relaxed);
    assert!((1..MAX_KIB).contains(&most), "{most} KiB");
}

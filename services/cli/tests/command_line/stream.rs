//! A hundred thousand documents on their way through `emend ingest`.

use std::{
    fs,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use emend_proto::v1::{IngestRequest, IngestResponse, IngestStatus};
use emend_testkit::retriever::{Messages, Retriever};
use futures::StreamExt as _;
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
            ..IngestResponse::default()
        }
    }
}

#[tonic::async_trait]
impl Retriever for Forgetful {
    async fn ingest(
        &self,
        request: Request<Streaming<IngestRequest>>,
    ) -> Result<Response<Messages<IngestResponse>>, Status> {
        let this = self.clone();
        let answers = request.into_inner().map(move |sent| Ok(this.take(sent?)));
        Ok(Response::new(answers.boxed()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_documents_take_a_bounded_memory() {
    let retriever = Forgetful::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let service = retriever.clone().into_server().max_decoding_message_size(64 << 20);
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

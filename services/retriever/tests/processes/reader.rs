//! Documents that kill or fill whoever reads them: each fails by itself, and the service goes on.

use std::{
    fs,
    process::{Child, Command},
    time::Duration,
};

use emend_chassis::TracedChannel;
use emend_core::Deadline;
use emend_proto::v1::{
    Document, IngestRequest, IngestResponse, IngestStatus, retriever_service_client::RetrieverServiceClient,
};

use crate::{RETRIEVER, start};

/// A PDF of one page with this content.
fn pdf(content: &str) -> Vec<u8> {
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [4 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
    ];
    let objects = objects.iter().enumerate();
    let body: String = objects
        .map(|(index, object)| format!("{} 0 obj\n{object}\nendobj\n", index + 1))
        .collect();
    format!("%PDF-1.4\n{body}trailer << /Size 6 /Root 1 0 R >>\n%%EOF\n").into_bytes()
}

fn request(id: &str, content: Vec<u8>) -> IngestRequest {
    let document = Document {
        id: id.to_owned(),
        content,
        ..Document::default()
    };
    IngestRequest {
        collection: String::new(),
        document: Some(document),
        ..IngestRequest::default()
    }
}

async fn ingest(client: &mut RetrieverServiceClient<TracedChannel>, id: &str, content: Vec<u8>) -> IngestResponse {
    let mut answers = client
        .ingest(tokio_stream::iter([request(id, content)]))
        .await
        .unwrap()
        .into_inner();
    answers.message().await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_kills_its_reader_fails_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, mut client) = start(Command::new(RETRIEVER), folder.path(), &[]);
    let page = "BT /F1 12 Tf 72 720 Td (Tides rise twice a day) Tj ET";
    let whole = ingest(&mut client, "whole.pdf", pdf(page)).await;
    assert_eq!(whole.status(), IngestStatus::Ingested, "{}", whole.error);
    // Its reader goes down by recursion, further than any stack.
    let deep = ingest(&mut client, "deep.pdf", pdf(&"[".repeat(10_000_000))).await;
    assert_eq!(deep.status(), IngestStatus::Failed);
    assert!(deep.error.contains("its reader broke off"), "{}", deep.error);
    let scanned = ingest(&mut client, "scanned.pdf", pdf("0 0 m 10 10 l S")).await;
    assert!(scanned.error.contains("hold pictures and no text"), "{}", scanned.error);
    let again = ingest(&mut client, "again.pdf", pdf(page)).await;
    assert_eq!(again.status(), IngestStatus::Ingested, "{}", again.error);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_fills_the_memory_fails_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, mut client) = start(Command::new(RETRIEVER), folder.path(), &[]);
    // Each operator is kept with its operands.
    let large = ingest(&mut client, "large.pdf", pdf(&"q ".repeat(15_000_000))).await;
    assert_eq!(large.status(), IngestStatus::Failed);
    assert!(large.error.contains("more than 1024 MiB of memory"), "{}", large.error);
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap()
        .trim();
    let peak: u64 = peak.trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 512 << 10, "{peak} KiB: the reader's memory is its own");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The processes that this one has started and that have not ended.
#[cfg(target_os = "linux")]
fn children(of: &Child) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let parent = of.id().to_string();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|process| {
            // It may end while it is looked at. Behind its name in parentheses come its state and its parent.
            let line = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            let fields = line.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default();
            let mut fields = fields.split_whitespace();
            fields.next().is_some_and(|state| state != "Z") && fields.next() == Some(&parent)
        })
        .collect()
}

/// Waits until a service has a reader, and stops that in the middle, so that it is as slow as can be.
#[cfg(target_os = "linux")]
async fn stopped_reader(service: &Child) -> u32 {
    let reader = eventually(|| children(service).first().copied()).await;
    let stopped = Command::new("kill").args(["-STOP", &reader.to_string()]).status();
    assert!(stopped.unwrap().success());
    reader
}

/// What comes to be within a minute.
#[cfg(target_os = "linux")]
async fn eventually<T>(mut found: impl FnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            match found() {
                Some(found) => return found,
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), looking).await.unwrap()
}

/// A document that takes a while to read.
#[cfg(target_os = "linux")]
fn long_document() -> IngestRequest {
    request("slow.pdf", pdf(&"0 0 m 10 10 l S ".repeat(500_000)))
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn the_reader_of_a_slow_document_ends_when_its_caller_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, mut client) = start(Command::new(RETRIEVER), folder.path(), &[]);
    let mut leaving = client.clone();
    let caller = tokio::spawn(async move {
        let mut answers = leaving
            .ingest(tokio_stream::iter([long_document()]))
            .await?
            .into_inner();
        answers.message().await
    });
    let reader = stopped_reader(&child).await;
    assert!(!caller.is_finished());
    caller.abort();
    eventually(|| (!children(&child).contains(&reader)).then_some(())).await;
    let page = "BT /F1 12 Tf 72 720 Td (Tides rise twice a day) Tj ET";
    let after = ingest(&mut client, "after.pdf", pdf(page)).await;
    assert_eq!(after.status(), IngestStatus::Ingested, "{}", after.error);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn the_reader_of_a_slow_document_ends_at_the_deadline_of_its_caller() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, mut client) = start(Command::new(RETRIEVER), folder.path(), &[]);
    let mut waiting = client.clone();
    let caller = tokio::spawn(async move {
        let stream = tokio_stream::iter([long_document()]);
        let request = emend_chassis::request(stream, Deadline::after(Duration::from_secs(10)));
        let mut answers = waiting.ingest(request).await?.into_inner();
        answers.message().await
    });
    let reader = stopped_reader(&child).await;
    let ended = caller.await.unwrap();
    let missed = ended.as_ref().err().map(tonic::Status::code) == Some(tonic::Code::DeadlineExceeded);
    assert!(missed, "{ended:?}");
    eventually(|| (!children(&child).contains(&reader)).then_some(())).await;
    let page = "BT /F1 12 Tf 72 720 Td (Tides rise twice a day) Tj ET";
    let after = ingest(&mut client, "after.pdf", pdf(page)).await;
    assert_eq!(after.status(), IngestStatus::Ingested, "{}", after.error);
    child.kill().unwrap();
    child.wait().unwrap();
}

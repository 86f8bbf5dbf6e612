//! Documents that kill or fill whoever reads them: each fails by itself, and the service goes on.

use std::process::Command;

use emend_chassis::TracedChannel;
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

async fn ingest(client: &mut RetrieverServiceClient<TracedChannel>, id: &str, content: Vec<u8>) -> IngestResponse {
    let document = Document {
        id: id.to_owned(),
        content,
        ..Document::default()
    };
    let request = IngestRequest {
        collection: String::new(),
        document: Some(document),
    };
    let mut answers = client.ingest(tokio_stream::iter([request])).await.unwrap().into_inner();
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

//! A disk that takes no more: what was acknowledged stays, what is not stored is said to be failed, the service goes on.

use std::process::Command;

use emend_chassis::TracedChannel;
use emend_proto::v1::{
    Document, IngestRequest, IngestResponse, IngestStatus, RetrieveRequest,
    retriever_service_client::RetrieverServiceClient,
};

use crate::{RETRIEVER, start};

/// Files may not grow beyond this: writing further fails as it does on a full disk. In blocks of 512 bytes.
const MAX_BLOCKS: &str = "98304";

/// The program, with a limit on its files.
fn limited() -> Command {
    let mut shell = Command::new("sh");
    let script = format!("trap '' XFSZ; ulimit -f {MAX_BLOCKS}; exec \"$0\" \"$@\"");
    shell.args(["-c", &script, RETRIEVER]);
    shell
}

/// Megabytes of text whose first words name it.
fn document(number: usize, megabytes: usize) -> Document {
    let mut content = format!("Ledger {number} of the lighthouse. ");
    while content.len() < megabytes << 20 {
        content.push_str("A line of figures that nobody will ever read again. ");
    }
    Document {
        id: format!("ledger-{number}"),
        content: content.into_bytes(),
        ..Document::default()
    }
}

async fn ingest(client: &mut RetrieverServiceClient<TracedChannel>, document: Document) -> IngestResponse {
    let request = IngestRequest {
        collection: String::new(),
        document: Some(document),
        ..IngestRequest::default()
    };
    let mut answers = client.ingest(tokio_stream::iter([request])).await.unwrap().into_inner();
    answers.message().await.unwrap().unwrap()
}

async fn assert_found(client: &mut RetrieverServiceClient<TracedChannel>, number: usize) {
    let query = format!("Ledger {number} of the lighthouse");
    let request = RetrieveRequest {
        query,
        top_k: Some(20),
        ..RetrieveRequest::default()
    };
    let passages = client.retrieve(request).await.unwrap().into_inner().passages;
    let start = format!("Ledger {number} of the lighthouse.");
    assert!(
        passages.iter().any(|passage| passage.text.starts_with(&start)),
        "ledger {number} is gone"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_fails_documents_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, mut client) = start(limited(), folder.path(), &[]);
    let mut stored = Vec::new();
    let mut error = None;
    for number in 0..40 {
        let answer = ingest(&mut client, document(number, 3)).await;
        match answer.status() {
            IngestStatus::Ingested => stored.push(number),
            _ => {
                error = Some(answer.error);
                break;
            }
        }
    }
    let error = error.expect("the limit was reached");
    println!("{} documents were stored, then: {error}", stored.len());
    assert!(!stored.is_empty(), "{error}");
    assert!(
        error.contains(folder.path().to_str().unwrap()) && error.contains("check the disk"),
        "{error}"
    );
    // Still there: what was acknowledged, and the service. A small document may still fit; either way it says.
    for number in &stored {
        assert_found(&mut client, *number).await;
    }
    let answer = ingest(&mut client, document(1000, 3)).await;
    assert_eq!(answer.status(), IngestStatus::Failed);
    // A replacement that fails leaves the earlier version.
    let mut replacement = document(stored[0], 3);
    replacement.title = "Other".to_owned();
    assert_eq!(ingest(&mut client, replacement).await.status(), IngestStatus::Failed);
    assert_found(&mut client, stored[0]).await;
    child.kill().unwrap();
    child.wait().unwrap();

    // With room again everything goes on where it was.
    let (mut child, mut client) = start(Command::new(RETRIEVER), folder.path(), &[]);
    for number in &stored {
        assert_found(&mut client, *number).await;
    }
    assert_eq!(
        ingest(&mut client, document(1000, 3)).await.status(),
        IngestStatus::Ingested
    );
    assert_found(&mut client, 1000).await;
    child.kill().unwrap();
    child.wait().unwrap();
}

//! `emend ingest`: ingests documents into a collection.

use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use emend_chassis::{TracedChannel, Upstream, retrying};
use emend_core::{Backoff, Deadline, printable, printable_line};
use emend_documents::READABLE;
use emend_proto::v1::{
    DeleteDocumentsRequest, IngestRequest, IngestStatus, ListDocumentsRequest,
    retriever_service_client::RetrieverServiceClient,
};
use indicatif::ProgressBar;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;
use tonic_types::StatusExt as _;

use crate::{
    args::IngestOptions,
    cluster::{Cluster, Component, Plan},
    documents::{self, FileKind, Skipped, Source},
    progress, terminal,
};

/// Deadline of an ingest call. The deadline of a question would be too short for large document sets.
const MAX_INGEST_TIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Deadline of the calls that remove documents after an ingest.
const MAX_REMOVE_TIME: Duration = Duration::from_secs(10 * 60);

/// Maximum documents read ahead of the retriever. Each may have 32 MiB.
const READ_AHEAD: usize = 4;

/// Waits for room in a retriever that takes no more streams.
const ROOM_BACKOFF: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));

/// Maximum ids per delete request.
const DELETE_AT_ONCE: usize = 1000;

/// The outcome of an ingest: the numbers of documents, and the failures.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Outcome {
    /// New or changed documents that were stored.
    pub ingested: u64,
    /// Documents that were stored already.
    pub unchanged: u64,
    /// Documents that were unreadable or rejected by the retriever, with the reason.
    pub failed: BTreeMap<String, String>,
    /// Files that are neither text nor documents that are read, and lines of JSON Lines that are too long.
    pub skipped: u64,
    /// Such lines, as `file:line`, with the reason.
    pub skipped_lines: BTreeMap<String, String>,
    /// The same by their kinds, for people.
    #[serde(skip)]
    pub skipped_kinds: String,
    /// Documents that were removed because they are no longer under the paths.
    pub removed: u64,
    /// Passages of all stored documents.
    pub passages: u64,
    #[serde(skip)]
    seen: HashSet<String>,
}

/// Runs the command.
///
/// # Errors
/// No document can be read, or the retriever is unreachable.
pub async fn run(options: IngestOptions) -> Result<ExitCode> {
    let found = found(&options.paths)?;
    let (local, channel) = match &options.url {
        Some(url) => (None, Upstream::new(url)?.channel()),
        None => {
            let local = Cluster::start(&options.local, Plan::only(Component::Retriever)).await?;
            let channel = local.channel(Component::Retriever)?;
            (Some(local), channel)
        }
    };
    let outcome = ingest(channel, &options.collection, found, options.prune).await;
    if let Some(local) = local {
        local.stop().await;
    }
    let outcome = outcome?;
    if options.json {
        terminal::print_json(&outcome, false)?;
    } else {
        report(&outcome);
    }
    Ok(if outcome.failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

/// Finds the documents under `paths`.
///
/// # Errors
/// A path does not exist, or no path has a readable document.
pub fn found(paths: &[PathBuf]) -> Result<documents::Found> {
    let found = documents::find(paths)?;
    if found.sources.is_empty() {
        let list: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        bail!(
            "no readable document in {}{}; {READABLE} and JSON Lines",
            list.join(", "),
            if found.skipped.is_empty() {
                String::new()
            } else {
                format!(", only {}", documents::summary(&found.skipped))
            }
        );
    }
    for Skipped { source, reason, .. } in &found.skipped {
        tracing::info!("{source} is skipped: {reason}");
    }
    Ok(found)
}

/// Sends documents to a retriever, with a progress bar on a terminal.
///
/// # Errors
/// The retriever rejects the stream or is unreachable. Acknowledged documents stay stored.
pub async fn ingest(channel: TracedChannel, collection: &str, found: documents::Found, prune: bool) -> Result<Outcome> {
    let client = RetrieverServiceClient::new(channel);
    let total = found.sources.iter().map(|source| source.count().unwrap_or(1)).sum();
    let documents::Found { sources, mut skipped } = found;
    let sources = Arc::new(sources);
    let deadline = Deadline::after(MAX_INGEST_TIME);
    let mut tries = 0;
    let (mut outcome, unreadable) = loop {
        let bar = progress::documents(total);
        let (received, outcome, unreadable) = send(client.clone(), collection, &sources, deadline, &bar).await;
        bar.finish_and_clear();
        let Err(status) = received else {
            break (outcome, unreadable?);
        };
        // A retriever takes few streams at once. Nothing of this one is stored: all of it is sent again when there is room.
        let wait = status.get_details_retry_info().and_then(|info| info.retry_delay);
        match wait {
            Some(wait) if status.code() == Code::ResourceExhausted && outcome.seen.is_empty() => {
                if tries == 0 {
                    terminal::eprintln(format_args!(
                        "waiting for the retriever: {}",
                        printable(status.message())
                    ));
                }
                tries += 1;
                tokio::time::sleep(ROOM_BACKOFF.jittered(tries, wait)).await;
            }
            _ => return Err(status.into()),
        }
    };
    for document in unreadable {
        if document.kind == FileKind::LongLine {
            let Skipped { source, reason, .. } = document.clone();
            outcome.skipped_lines.insert(source, reason);
            skipped.push(document);
        } else {
            outcome.seen.insert(document.source.clone());
            outcome.failed.insert(document.source, document.reason);
        }
    }
    outcome.skipped = skipped.len() as u64;
    outcome.skipped_kinds = documents::summary(&skipped);
    // Nobody knows which documents are in lines that were not read: none of them is taken for gone.
    if prune && outcome.skipped_lines.is_empty() {
        outcome.removed = remove_others(&client, collection, &outcome.seen).await?;
    }
    Ok(outcome)
}

/// Sends all documents once, until the retriever ends the stream. What it said of them, and which could not be read.
async fn send(
    mut client: RetrieverServiceClient<TracedChannel>,
    collection: &str,
    sources: &Arc<Vec<Source>>,
    deadline: Deadline,
    bar: &ProgressBar,
) -> (Result<(), tonic::Status>, Outcome, Result<Vec<Skipped>>) {
    let unreadable = Arc::new(Mutex::new(Vec::new()));
    let (sender, receiver) = mpsc::channel(READ_AHEAD);
    let reader = {
        let (unreadable, sources) = (Arc::clone(&unreadable), Arc::clone(sources));
        let collection = collection.to_owned();
        tokio::task::spawn_blocking(move || read(&sources, &collection, &sender, &unreadable))
    };
    let mut outcome = Outcome::default();
    let received = async {
        let request = emend_chassis::request(ReceiverStream::new(receiver), deadline);
        let mut answers = client.ingest(request).await?.into_inner();
        while let Some(answer) = answers.message().await? {
            bar.inc(1);
            match answer.status() {
                IngestStatus::Ingested => {
                    outcome.ingested += 1;
                    outcome.passages += u64::from(answer.passages);
                }
                IngestStatus::Unchanged => outcome.unchanged += 1,
                IngestStatus::Failed | IngestStatus::Unspecified => {
                    outcome.failed.insert(answer.document_id.clone(), answer.error);
                }
            }
            outcome.seen.insert(answer.document_id);
        }
        Ok(())
    }
    .await;
    let read = reader.await.context("the document reader failed");
    let unreadable = read.map(|()| std::mem::take(&mut *unreadable.lock().unwrap_or_else(PoisonError::into_inner)));
    (received, outcome, unreadable)
}

fn read(sources: &[Source], collection: &str, sender: &mpsc::Sender<IngestRequest>, unreadable: &Mutex<Vec<Skipped>>) {
    for document in sources.iter().flat_map(Source::read) {
        match document {
            Ok(document) => {
                let request = IngestRequest {
                    collection: collection.to_owned(),
                    document: Some(document),
                };
                if sender.blocking_send(request).is_err() {
                    return;
                }
            }
            Err(skipped) => unreadable.lock().unwrap_or_else(PoisonError::into_inner).push(skipped),
        }
    }
}

/// Removes the documents of a collection whose ids are not in `seen`.
async fn remove_others(
    client: &RetrieverServiceClient<TracedChannel>,
    collection: &str,
    seen: &HashSet<String>,
) -> Result<u64> {
    // A long ingest outlives its connection, which the server closes by and by.
    let deadline = Deadline::after(MAX_REMOVE_TIME);
    let mut gone = Vec::new();
    let mut page_token = String::new();
    loop {
        let request = ListDocumentsRequest {
            collection: collection.to_owned(),
            page_size: None,
            page_token,
        };
        let page = retrying(deadline, |attempt| {
            let (mut client, request) = (client.clone(), attempt.request(request.clone()));
            async move { client.list_documents(request).await }
        })
        .await;
        let page = match page {
            Ok(page) => page.into_inner(),
            // The collection does not exist because every document failed.
            Err(status) if status.code() == Code::NotFound => return Ok(0),
            Err(status) => return Err(status.into()),
        };
        gone.extend(
            page.documents
                .into_iter()
                .map(|document| document.id)
                .filter(|id| !seen.contains(id)),
        );
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    let mut removed = 0;
    for ids in gone.chunks(DELETE_AT_ONCE) {
        let request = DeleteDocumentsRequest {
            collection: collection.to_owned(),
            document_ids: ids.to_vec(),
        };
        let deleted = retrying(deadline, |attempt| {
            let (mut client, request) = (client.clone(), attempt.request(request.clone()));
            async move { client.delete_documents(request).await }
        });
        removed += u64::from(deleted.await?.into_inner().deleted);
    }
    Ok(removed)
}

/// Prints the outcome to standard error.
pub fn report(outcome: &Outcome) {
    let mut parts = Vec::new();
    let mut count = |number: u64, what: &str| {
        if number > 0 {
            parts.push(format!("{number} {what}"));
        }
    };
    count(outcome.ingested, "ingested");
    count(outcome.unchanged, "unchanged");
    count(outcome.removed, "removed");
    count(outcome.failed.len() as u64, "failed");
    terminal::eprintln(format_args!("documents: {}", parts.join(", ")));
    if outcome.skipped > 0 {
        terminal::eprintln(format_args!(
            "skipped: {} (-v names them)",
            printable_line(&outcome.skipped_kinds)
        ));
    }
    for (line, reason) in outcome.skipped_lines.iter().take(10) {
        terminal::eprintln(format_args!("  {}: {}", printable_line(line), printable(reason)));
    }
    for (document, reason) in outcome.failed.iter().take(10) {
        terminal::eprintln(format_args!("  {}: {}", printable_line(document), printable(reason)));
    }
    if outcome.failed.len() > 10 {
        terminal::eprintln(format_args!("  and {} more", outcome.failed.len() - 10));
    }
}

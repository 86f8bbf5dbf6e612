//! `emend ingest`: ingests documents into a collection.

mod outcome;
mod prune;
mod send;
mod watch;

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use anyhow::{Result, bail};
use emend_chassis::TracedChannel;
use emend_documents::READABLE;
use emend_proto::v1::retriever_service_client::RetrieverServiceClient;
use tokio_util::sync::CancellationToken;

use self::{outcome::Change, prune::Pruning};
pub use self::{
    outcome::{Outcome, report},
    prune::Prune,
};
use crate::{
    args::IngestOptions,
    cluster,
    documents::{self, Addresses, FileKind, Reading, Skipped, Source, is_address},
    progress, terminal,
};

/// Exit status of `--strict` when a file or document is skipped or failed.
const INCOMPLETE: u8 = 5;

/// Largest message of a retriever, in bytes: a page of a list whose every document has the longest names.
const MAX_REPLY_BYTES: usize = 16 << 20;

/// A client of a retriever.
type Retriever = RetrieverServiceClient<TracedChannel>;

fn retriever(channel: TracedChannel) -> Retriever {
    RetrieverServiceClient::new(channel).max_decoding_message_size(MAX_REPLY_BYTES)
}

/// Runs the command.
///
/// # Errors
/// No document can be read, or the retriever is unreachable.
pub async fn run(options: IngestOptions) -> Result<ExitCode> {
    let reading = options.reading()?;
    let stop = emend_chassis::stop_on_signal()?;
    // Before any model is loaded: what is wrong with the command line is said at once.
    let start = if options.watch {
        Start::Watching(watch::Watch::new(&options.paths, reading)?)
    } else {
        Start::Once(find(&options, &reading, &stop).await?)
    };
    let connecting = cluster::retriever(&options.stored.at, &options.stored.local);
    let Some(connected) = stop.run_until_cancelled(connecting).await else {
        return Ok(ExitCode::from(STOPPED));
    };
    let (local, channel) = connected?;
    let ingested = match start {
        Start::Once(None) => Ok(None),
        Start::Once(Some(found)) => {
            let prune = if options.prune { Prune::Owned } else { Prune::Nothing };
            let ingesting = ingest(channel, &options.stored.collection, found, prune);
            stop.run_until_cancelled(ingesting).await.transpose()
        }
        Start::Watching(watch) => watch.run(retriever(channel), &options, &stop).await.map(Some),
    };
    if let Some(local) = local {
        local.stop().await;
    }
    let Some(outcome) = ingested? else {
        terminal::eprintln("stopped; the documents that were acknowledged are stored");
        return Ok(ExitCode::from(STOPPED));
    };
    if options.json {
        terminal::print_json(&outcome.summary(), false)?;
    } else {
        report(&outcome);
    }
    let is_complete = outcome.failed.is_empty() && outcome.skipped.is_empty();
    Ok(match (options.strict, outcome.failed.is_empty() || options.watch) {
        (true, _) if !is_complete => ExitCode::from(INCOMPLETE),
        (false, false) => ExitCode::from(1),
        _ => ExitCode::SUCCESS,
    })
}

/// Exit status of a command that a signal ended before it was done.
const STOPPED: u8 = 130;

/// What is done once the retriever answers.
enum Start {
    /// `None` where a signal came first.
    Once(Option<documents::Found>),
    Watching(watch::Watch),
}

/// Finds the files and pages that the options name; `None` where a signal came first.
async fn find(
    options: &IngestOptions,
    reading: &Reading,
    stop: &CancellationToken,
) -> Result<Option<documents::Found>> {
    let (pages, paths): (Vec<PathBuf>, Vec<PathBuf>) = options.paths.iter().cloned().partition(|path| is_address(path));
    let addresses = Addresses::new(&pages, &options.sitemap, options.stored.local.web.page_settings())?;
    let mut files = match paths.as_slice() {
        [] => documents::Found::default(),
        paths => found(paths, reading)?,
    };
    files.fields = Arc::clone(&reading.fields);
    files.check_fields()?;
    let named = files.skipped.len();
    let finding = stop.run_until_cancelled(addresses.find(&mut files)).await;
    if finding.transpose()?.is_none() {
        return Ok(None);
    }
    name_skipped(files.skipped.get(named..).unwrap_or_default());
    Ok(Some(files))
}

/// Finds the documents under `paths`.
///
/// # Errors
/// A path does not exist, or no path has a readable document.
pub fn found(paths: &[PathBuf], reading: &Reading) -> Result<documents::Found> {
    let found = documents::find(paths, reading)?;
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
    name_skipped(&found.skipped);
    Ok(found)
}

/// Names in the log what is not read.
fn name_skipped(skipped: &[Skipped]) {
    for Skipped { source, reason, .. } in skipped {
        tracing::info!("{source} is skipped: {reason}");
    }
}

/// Sends documents to a retriever, with a progress bar on a terminal, and removes those that are gone.
///
/// # Errors
/// The retriever rejects the stream or is unreachable. Acknowledged documents stay stored.
pub async fn ingest(
    channel: TracedChannel,
    collection: &str,
    found: documents::Found,
    prune: Prune,
) -> Result<Outcome> {
    Ok(ingest_with(&retriever(channel), collection, found, prune).await?.0)
}

/// As [`ingest`], and which documents are in which file.
async fn ingest_with(
    client: &Retriever,
    collection: &str,
    found: documents::Found,
    prune: Prune,
) -> Result<(Outcome, Vec<send::ReadFile>)> {
    let bar = progress::ingesting(found.sources.iter().map(Source::bytes).sum());
    let sending = send::Sending::new(client, collection, found.sources, &found.fields)
        .with_pages(found.pages)
        .with_bar(bar.clone());
    let sent = sending.send(&mut |_: &Change| {}).await;
    bar.finish_and_clear();
    let send::Sent {
        mut outcome,
        files,
        unreadable,
        gone,
        seen,
    } = sent?;
    found.skipped.iter().for_each(|skipped| outcome.skip(skipped));
    for document in &unreadable {
        match document.kind {
            FileKind::LongLine => outcome.skip(document),
            _ => outcome.fail(&document.source, &document.reason),
        }
    }
    // With a prune it is removed, which is all there is to do.
    for page in gone.iter().filter(|_| prune == Prune::Nothing) {
        outcome.fail(&page.source, &page.reason);
    }
    if prune != Prune::Nothing {
        let pruning = Pruning {
            prune,
            seen: &seen,
            roots: &found.roots,
            unread: &found.unread,
            incomplete: files
                .iter()
                .filter(|file| !file.is_complete)
                .map(|file| &*file.path)
                .collect(),
        };
        outcome.removed = prune::remove_others(client, collection, &pruning).await?;
    }
    Ok((outcome, files))
}

//! `emend ingest`: ingests documents into a collection.

mod outcome;
mod pending;
mod prune;
mod send;
mod watch;

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use anyhow::{Result, bail};
use emend_chassis::TracedChannel;
use emend_documents::READABLE;
use emend_proto::v1::retriever_service_client::RetrieverServiceClient;
use indicatif::ProgressBar;
use tokio_util::sync::CancellationToken;

use self::{
    outcome::Change,
    prune::Pruning,
    send::{Sending, Sent},
};
pub use self::{
    outcome::{Outcome, report},
    pending::Pending,
    prune::Prune,
};
use crate::{
    args::IngestOptions,
    cluster,
    documents::{self, Addresses, Reading, Skipped, is_address},
    progress, terminal,
};

/// Exit status of `--strict` when a file or document is skipped or failed.
const INCOMPLETE: u8 = 5;

/// Largest message of a retriever, in bytes: a page of a list whose every document has the longest names.
const MAX_REPLY_BYTES: usize = 16 << 20;

/// Files of fewer bytes are embedded before a question is answered from them: that takes seconds.
const MAX_EMBEDDED_FIRST: u64 = 512 << 10;

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

/// As [`ingest`], but where it would take long: documents that are new or changed are stored by their words first, which takes
/// seconds, and those are returned that are still to be embedded.
///
/// # Errors
/// As for [`ingest`].
pub async fn ingest_words_first(
    channel: TracedChannel,
    collection: &str,
    mut found: documents::Found,
    prune: Prune,
) -> Result<(Outcome, Option<Pending>)> {
    let client = retriever(channel);
    if documents::total_bytes(&found.sources) < MAX_EMBEDDED_FIRST {
        return Ok((ingest_with(&client, collection, found, prune).await?.0, None));
    }
    let sources = found.sources.clone();
    let bar = progress::ingesting("reading", documents::total_bytes(&sources));
    let mut sent = send_all(sending(&client, collection, &mut found).by_words(), bar).await?;
    let by_words = std::mem::take(&mut sent.by_words);
    let (mut outcome, files) = account(&client, collection, &found, sent, prune).await?;
    let pending = Pending::new(&client, collection, sources, &found.fields, &files, by_words);
    match pending {
        Some(pending) if pending.bytes() < MAX_EMBEDDED_FIRST => {
            let bar = progress::ingesting("embedding", pending.bytes());
            let embedded = pending.embed(bar.clone()).await;
            bar.finish_and_clear();
            outcome.failed.extend(embedded?.failed);
            Ok((outcome, None))
        }
        pending => Ok((outcome, pending)),
    }
}

/// As [`ingest`], and which documents are in which file.
async fn ingest_with(
    client: &Retriever,
    collection: &str,
    mut found: documents::Found,
    prune: Prune,
) -> Result<(Outcome, Vec<send::ReadFile>)> {
    let bar = progress::ingesting("ingesting", documents::total_bytes(&found.sources));
    let sent = send_all(sending(client, collection, &mut found), bar).await?;
    account(client, collection, &found, sent, prune).await
}

/// The files and pages that were found, on their way to a collection.
fn sending<'a>(client: &'a Retriever, collection: &'a str, found: &mut documents::Found) -> Sending<'a> {
    let (sources, pages) = (std::mem::take(&mut found.sources), std::mem::take(&mut found.pages));
    Sending::new(client, collection, sources, &found.fields).with_pages(pages)
}

async fn send_all(sending: Sending<'_>, bar: ProgressBar) -> Result<Sent> {
    let sent = sending.with_bar(bar.clone()).send(&mut |_: &Change| {}).await;
    bar.finish_and_clear();
    sent
}

/// What becomes of documents that were sent: what is to be said of them, and which are in which file. Removes those that are
/// gone.
async fn account(
    client: &Retriever,
    collection: &str,
    found: &documents::Found,
    sent: Sent,
    prune: Prune,
) -> Result<(Outcome, Vec<send::ReadFile>)> {
    let Sent {
        mut outcome,
        files,
        unreadable,
        gone,
        seen,
        ..
    } = sent;
    found.skipped.iter().for_each(|skipped| outcome.skip(skipped));
    unreadable.iter().for_each(|document| outcome.leave(document));
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

//! `emend collections`: lists, describes, removes, copies, exports, imports and repairs collections.

mod copy;
mod export;
mod import;
mod line;

use std::io::{BufRead as _, IsTerminal as _, stdin};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Parser;
use emend_chassis::{TracedChannel, config::defaults, retrying};
use emend_core::{Deadline, printable_line};
use emend_models::embed::{EmbedderChoice, EmbedderOptions};
use emend_proto::v1::{
    Collection, DeleteCollectionRequest, GetCollectionRequest, ListCollectionsRequest, RepairCollectionRequest,
    retriever_service_client::RetrieverServiceClient,
};

use crate::{
    args::{CollectionsCommand, CollectionsPlace, LocalOptions},
    cluster, json, progress, terminal,
};

/// Deadline of the calls that answer at once.
const MAX_TIME: Duration = Duration::from_secs(60);

/// Deadline of the calls that go through a whole collection.
const MAX_LONG_TIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Documents that are named when they are not whole.
const MAX_NAMED: usize = 20;

type Client = RetrieverServiceClient<TracedChannel>;

/// Largest message of an export: one part of a document, and the section or passage that went beyond.
const MAX_PART_BYTES: usize = 64 << 20;

/// Runs the command.
///
/// # Errors
/// The retriever cannot be reached or refuses, or a file cannot be read or written.
pub async fn run(command: CollectionsCommand) -> Result<ExitCode> {
    let place = match &command {
        CollectionsCommand::List { place, .. }
        | CollectionsCommand::Describe { place, .. }
        | CollectionsCommand::Delete { place, .. }
        | CollectionsCommand::Copy { place, .. }
        | CollectionsCommand::Export { place, .. }
        | CollectionsCommand::Import { place, .. }
        | CollectionsCommand::Repair { place, .. } => place.clone(),
    };
    let embedder = match &command {
        CollectionsCommand::Copy { embedder, .. } => Some(&**embedder),
        _ => None,
    };
    let (local, channel) = cluster::retriever(&place.at, &local_options(&place, embedder)).await?;
    let client = RetrieverServiceClient::new(channel).max_decoding_message_size(MAX_PART_BYTES);
    let done = tokio::select! {
        done = dispatch(client, command) => done,
        stopped = tokio::signal::ctrl_c() => stopped.map_err(Into::into).map(|()| ExitCode::from(130)),
    };
    if let Some(local) = local {
        local.stop().await;
    }
    done
}

async fn dispatch(client: Client, command: CollectionsCommand) -> Result<ExitCode> {
    match command {
        CollectionsCommand::List { json, .. } => list(client, json).await,
        CollectionsCommand::Describe { name, json, .. } => describe(client, name, json).await,
        CollectionsCommand::Delete { name, yes, .. } => delete(client, name, yes).await,
        CollectionsCommand::Copy { from, to, json, .. } => copy::run(client, from, to, json).await,
        CollectionsCommand::Export { name, out, resume, .. } => export::run(client, name, out, resume).await,
        CollectionsCommand::Import { file, collection, .. } => import::run(client, file, collection).await,
        CollectionsCommand::Repair { name, json, .. } => repair(client, name, json).await,
    }
}

/// A local retriever with an embedder, or one that embeds nothing: no weights are loaded for it.
fn local_options(place: &CollectionsPlace, embedder: Option<&EmbedderOptions>) -> LocalOptions {
    #[derive(Parser)]
    struct Local {
        #[command(flatten)]
        local: LocalOptions,
    }
    let mut local = defaults::<Local>().local;
    match embedder {
        Some(embedder) => local.embedder = embedder.clone(),
        None => local.embedder.embedder = EmbedderChoice::Hashed,
    }
    local.data_dir.clone_from(&place.data_dir);
    local
}

async fn list(client: Client, as_json: bool) -> Result<ExitCode> {
    let listed = retrying(Deadline::after(MAX_TIME), |attempt| {
        let (mut client, request) = (client.clone(), attempt.request(ListCollectionsRequest {}));
        async move { client.list_collections(request).await }
    });
    let listed = listed.await?.into_inner();
    if as_json {
        terminal::print_json(&json::value("ListCollectionsResponse", &listed)?, true)?;
        return Ok(ExitCode::SUCCESS);
    }
    let collections = listed.collections;
    if collections.is_empty() {
        terminal::eprintln("no collections yet: `emend ingest` makes one");
    }
    let width = collections.iter().map(|collection| collection.name.len()).max();
    for collection in collections {
        let Collection {
            name,
            documents,
            passages,
            embedder,
            ..
        } = collection;
        terminal::println(format_args!(
            "{:<width$}  {documents} documents  {passages} passages  {}",
            printable_line(&name),
            printable_line(&embedder),
            width = width.unwrap_or_default()
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn described(client: &Client, name: &str) -> Result<Collection> {
    let described = retrying(Deadline::after(MAX_TIME), |attempt| {
        let request = GetCollectionRequest {
            collection: name.to_owned(),
        };
        let (mut client, request) = (client.clone(), attempt.request(request));
        async move { client.get_collection(request).await }
    });
    Ok(described.await?.into_inner().collection.unwrap_or_default())
}

async fn describe(client: Client, name: String, as_json: bool) -> Result<ExitCode> {
    let collection = described(&client, &name).await?;
    if as_json {
        terminal::print_json(&json::value("Collection", &collection)?, true)?;
        return Ok(ExitCode::SUCCESS);
    }
    terminal::println(format_args!(
        "name        {}\ndocuments   {}\npassages    {}\nembedder    {}\ndimensions  {}",
        printable_line(&collection.name),
        collection.documents,
        collection.passages,
        printable_line(&collection.embedder),
        collection.dimensions
    ))?;
    Ok(ExitCode::SUCCESS)
}

async fn delete(mut client: Client, name: String, yes: bool) -> Result<ExitCode> {
    let collection = described(&client, &name).await?;
    let shown = printable_line(&name);
    if !yes {
        if !stdin().is_terminal() {
            bail!(
                "{shown} has {} documents: give --yes to remove it, where nobody can be asked",
                collection.documents
            );
        }
        terminal::eprint(format_args!(
            "Remove collection {shown} with {} documents? [y/N] ",
            collection.documents
        ));
        let answer = tokio::task::spawn_blocking(|| {
            let mut answer = String::new();
            stdin().lock().read_line(&mut answer).map(|_| answer)
        });
        let answer = answer.await??;
        if !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
            terminal::eprintln("nothing is removed");
            return Ok(ExitCode::from(1));
        }
    }
    // Not made again by itself: the collection would not be there the second time.
    let request = DeleteCollectionRequest { collection: name };
    let request = emend_chassis::request(request, Deadline::after(MAX_TIME));
    let removed = client.delete_collection(request).await?.into_inner();
    terminal::eprintln(format_args!("removed {shown}: {} documents", removed.documents));
    Ok(ExitCode::SUCCESS)
}

async fn repair(mut client: Client, name: String, as_json: bool) -> Result<ExitCode> {
    let spinner = progress::spinner(&format!("repairing {name}"));
    let request = RepairCollectionRequest { collection: name };
    let request = emend_chassis::request(request, Deadline::after(MAX_LONG_TIME));
    let repaired = client.repair_collection(request).await;
    spinner.finish_and_clear();
    let repaired = repaired?.into_inner();
    let incomplete = &repaired.incomplete_document_ids;
    if as_json {
        terminal::print_json(&json::value("RepairCollectionResponse", &repaired)?, true)?;
    } else {
        terminal::println(format_args!(
            "{} left behind and removed, {} missing in the index and restored, {} documents not whole",
            repaired.removed,
            repaired.restored,
            incomplete.len()
        ))?;
        for document in incomplete.iter().take(MAX_NAMED) {
            terminal::println(format_args!("  {}", printable_line(document)))?;
        }
        if incomplete.len() > MAX_NAMED {
            terminal::println(format_args!("  and {} more", incomplete.len() - MAX_NAMED))?;
        }
        if !incomplete.is_empty() {
            terminal::eprintln("ingest the documents that are not whole again");
        }
    }
    Ok(if incomplete.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

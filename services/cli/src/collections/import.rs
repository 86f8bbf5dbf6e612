//! `emend collections import`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use emend_core::{Deadline, printable, printable_line};
use emend_proto::v1::{ImportCollectionRequest, IngestStatus};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::export::MAX_LINE_BYTES;
use super::line::{Header, Line};
use super::{Client, MAX_LONG_TIME};
use crate::{progress, terminal};

/// Lines that are read ahead of the retriever.
const READ_AHEAD: usize = 4;

/// Documents that are named when they could not be stored.
const MAX_NAMED: usize = 10;

pub(super) async fn run(mut client: Client, file: PathBuf, collection: Option<String>) -> Result<ExitCode> {
    let unreadable = || format!("{} cannot be imported", file.display());
    let bytes = std::fs::metadata(&file).with_context(unreadable)?.len();
    let bar = progress::bytes("importing", bytes);
    let (sender, receiver) = mpsc::channel(READ_AHEAD);
    let reader = {
        let (file, bar) = (file.clone(), bar.clone());
        tokio::task::spawn_blocking(move || read(&file, collection, &sender, |bytes| bar.inc(bytes)))
    };
    let request = emend_chassis::request(ReceiverStream::new(receiver), Deadline::after(MAX_LONG_TIME));
    let (mut imported, mut unchanged, mut failed) = (0_u64, 0_u64, BTreeMap::new());
    let received = async {
        let mut answers = client.import_collection(request).await?.into_inner();
        while let Some(answer) = answers.message().await? {
            match answer.status() {
                IngestStatus::Ingested => imported += 1,
                IngestStatus::Unchanged => unchanged += 1,
                IngestStatus::Failed | IngestStatus::Unspecified => {
                    failed.insert(answer.document_id, answer.error);
                }
            }
        }
        Ok::<_, tonic::Status>(())
    }
    .await;
    bar.finish_and_clear();
    let read = reader.await.context("reading the file broke off")?;
    terminal::eprintln(format_args!(
        "documents: {imported} imported, {unchanged} unchanged, {} failed",
        failed.len()
    ));
    for (document, error) in failed.iter().take(MAX_NAMED) {
        terminal::eprintln(format_args!("  {}: {}", printable_line(document), printable(error)));
    }
    if failed.len() > MAX_NAMED {
        terminal::eprintln(format_args!("  and {} more", failed.len() - MAX_NAMED));
    }
    received?;
    read.with_context(unreadable)?;
    Ok(if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

/// Sends the documents of a file, until the receiver is gone.
fn read(
    path: &Path,
    collection: Option<String>,
    sender: &mpsc::Sender<ImportCollectionRequest>,
    advance: impl Fn(u64),
) -> Result<()> {
    let mut reader = BufReader::new(File::open(path)?);
    let (mut line, mut number) = (Vec::new(), 0_u64);
    let mut header: Option<Header> = None;
    loop {
        line.clear();
        let read = reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? as u64;
        if read == 0 {
            break;
        }
        number += 1;
        if read == MAX_LINE_BYTES && line.last() != Some(&b'\n') {
            bail!("line {number} has more than {} MiB", MAX_LINE_BYTES >> 20);
        }
        advance(read);
        let Some(header) = &header else {
            header = Some(Header::read(&line)?);
            continue;
        };
        let (document, last) = Line::read(&line).with_context(|| {
            format!("line {number} is no document: where the export broke off, go on with `export --resume`")
        })?;
        let request = ImportCollectionRequest {
            collection: collection.clone().unwrap_or_else(|| header.collection.clone()),
            embedder: header.embedder.clone(),
            document: Some(document),
            last,
        };
        if sender.blocking_send(request).is_err() {
            return Ok(());
        }
    }
    match header {
        Some(_) => Ok(()),
        None => bail!("it is empty"),
    }
}

//! The way of documents to a retriever: read a few at a time, acknowledged one at a time.

use std::{
    collections::HashSet,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result};
use emend_core::{Backoff, Deadline, printable, printable_line};
use emend_proto::v1::{IngestRequest, IngestStatus};
use indicatif::ProgressBar;
use tokio::{runtime::Handle, sync::mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::{
    Retriever,
    outcome::{Change, Outcome},
};
use crate::{
    documents::{Fields, NoPage, PageSource, Skipped, Source},
    terminal,
};

/// Deadline of an ingest call. The deadline of a question would be too short for large document sets.
const MAX_INGEST_TIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Maximum documents read ahead of the retriever. Each may have 32 MiB.
const READ_AHEAD: usize = 4;
/// Waits for room in a retriever that takes no more streams.
const ROOM_BACKOFF: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));

/// Files on their way to a collection.
pub(super) struct Sending<'a> {
    client: &'a Retriever,
    collection: &'a str,
    sources: Arc<Vec<Source>>,
    pages: Arc<Vec<PageSource>>,
    fields: Arc<Fields>,
    words_only: bool,
    bar: ProgressBar,
}

/// What came of it.
#[derive(Default)]
pub(super) struct Sent {
    /// What the retriever said, in numbers.
    pub(super) outcome: Outcome,
    /// The files, in the order in which they were read.
    pub(super) files: Vec<ReadFile>,
    /// Files and records that could not be read.
    pub(super) unreadable: Vec<Skipped>,
    /// Pages that are not there any more.
    pub(super) gone: Vec<Skipped>,
    /// The identifiers of all documents that are there, and the places of those that could not be read.
    pub(super) seen: HashSet<String>,
    /// The identifiers of documents that are stored by their words alone.
    pub(super) by_words: HashSet<String>,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadFile {
    pub(super) path: PathBuf,
    /// The identifiers of its records; `None` where the file is one document, which has its path.
    pub(super) records: Option<Vec<String>>,
    /// Whether all of it could be read.
    pub(super) is_complete: bool,
    /// Whether it is stored, where it is one document.
    pub(super) is_stored: bool,
}

impl ReadFile {
    /// Whether one of these documents is in it.
    pub(super) fn has_one_of(&self, documents: &HashSet<String>) -> bool {
        match &self.records {
            Some(records) => records.iter().any(|record| documents.contains(record)),
            None => documents.contains(&*self.path.to_string_lossy()),
        }
    }
}

/// What the thread that reads leaves behind.
#[derive(Default)]
struct Read {
    files: Vec<ReadFile>,
    unreadable: Vec<Skipped>,
    gone: Vec<Skipped>,
}

impl<'a> Sending<'a> {
    pub(super) fn new(client: &'a Retriever, collection: &'a str, sources: Vec<Source>, fields: &Arc<Fields>) -> Self {
        Self {
            client,
            collection,
            sources: Arc::new(sources),
            pages: Arc::default(),
            fields: Arc::clone(fields),
            words_only: false,
            bar: ProgressBar::hidden(),
        }
    }

    /// The files by their words alone, but for documents that are stored with their embeddings.
    pub(super) fn by_words(mut self) -> Self {
        self.words_only = true;
        self
    }

    /// With a bar that counts the bytes of files, and shows which is read.
    pub(super) fn with_bar(mut self, bar: ProgressBar) -> Self {
        self.bar = bar;
        self
    }

    /// With pages that are fetched after the files, one at a time.
    pub(super) fn with_pages(mut self, pages: Vec<PageSource>) -> Self {
        self.pages = Arc::new(pages);
        self
    }

    /// Sends all documents, and again where the retriever has no room for the stream. Tells `tell` what becomes of each.
    ///
    /// # Errors
    /// The status of a retriever that rejects the stream or is unreachable.
    pub(super) async fn send(&self, tell: &mut (dyn FnMut(&Change) + Send)) -> Result<Sent> {
        let deadline = Deadline::after(MAX_INGEST_TIME);
        let mut tries = 0;
        loop {
            let (received, sent) = self.send_once(deadline, tell).await;
            let Err(status) = received else {
                return sent;
            };
            // A retriever takes few streams at once. Nothing of this one is stored: all of it is sent again when there is
            // room.
            let nothing = sent.as_ref().is_ok_and(|sent| sent.seen.is_empty());
            let wait = status.get_details_retry_info().and_then(|info| info.retry_delay);
            match wait {
                Some(wait) if status.code() == Code::ResourceExhausted && nothing => {
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
        }
    }

    /// Sends all documents once, until the retriever ends the stream.
    async fn send_once(
        &self,
        deadline: Deadline,
        tell: &mut (dyn FnMut(&Change) + Send),
    ) -> (Result<(), Status>, Result<Sent>) {
        let read = Arc::new(Mutex::new(Read::default()));
        // A page that is being fetched is let go of with the stream.
        let gone = CancellationToken::new();
        let _gone = gone.clone().drop_guard();
        let (sender, receiver) = mpsc::channel(READ_AHEAD);
        let reader = {
            let (read, sources, fields) = (Arc::clone(&read), Arc::clone(&self.sources), Arc::clone(&self.fields));
            let as_request = IngestRequest {
                collection: self.collection.to_owned(),
                document: None,
                words_only: self.words_only,
            };
            let bar = self.bar.clone();
            let (pages, stopped, runtime) = (Arc::clone(&self.pages), gone.clone(), Handle::current());
            tokio::task::spawn_blocking(move || {
                if read_all(&sources, &fields, &as_request, &sender, &read, &bar) {
                    let collection = &as_request.collection;
                    runtime.block_on(fetch_all(&pages, collection, &sender, &read, &stopped, &bar));
                }
            })
        };
        let mut sent = Sent::default();
        let received = async {
            let request = emend_chassis::request(ReceiverStream::new(receiver), deadline);
            let mut answers = self.client.clone().ingest(request).await?.into_inner();
            while let Some(answer) = answers.message().await? {
                let (status, document) = (answer.status(), answer.document_id);
                sent.seen.insert(document.clone());
                if answer.words_only {
                    sent.by_words.insert(document.clone());
                }
                let change = match status {
                    IngestStatus::Ingested => Change::Ingested {
                        document,
                        passages: answer.passages,
                    },
                    IngestStatus::Unchanged => Change::Unchanged { document },
                    IngestStatus::Failed | IngestStatus::Unspecified => Change::Failed {
                        document,
                        reason: answer.error,
                    },
                };
                sent.outcome.count(&change);
                tell(&change);
            }
            Ok(())
        }
        .await;
        if received.is_err() {
            gone.cancel();
        }
        let joined = reader.await.context("the document reader failed");
        let sent = joined.map(|()| {
            let mut read = std::mem::take(&mut *read.lock().unwrap_or_else(PoisonError::into_inner));
            for file in read.files.iter_mut().filter(|file| file.records.is_none()) {
                let id = file.path.display().to_string();
                file.is_stored = sent.seen.contains(&id) && !sent.outcome.failed.contains_key(&id);
            }
            sent.seen
                .extend(read.unreadable.iter().map(|skipped| skipped.source.clone()));
            Sent {
                files: read.files,
                unreadable: read.unreadable,
                gone: read.gone,
                ..sent
            }
        });
        (received, sent)
    }
}

/// Reads files one document at a time, as fast as they are taken, and sends each in a copy of `as_request`. Whether all of them
/// were taken.
fn read_all(
    sources: &[Source],
    fields: &Arc<Fields>,
    as_request: &IngestRequest,
    sender: &mpsc::Sender<IngestRequest>,
    read: &Mutex<Read>,
    bar: &ProgressBar,
) -> bool {
    let mut before = 0;
    bar.set_position(before);
    for source in sources {
        bar.set_message(printable_line(&source.path().display().to_string()));
        let bytes = source.bytes();
        let mut file = ReadFile {
            path: source.path().to_owned(),
            records: source.has_records().then(Vec::new),
            is_complete: true,
            is_stored: false,
        };
        let mut within = 0;
        for document in source.read(fields) {
            match document {
                Ok(document) => {
                    within += document.content.len() as u64;
                    file.records
                        .iter_mut()
                        .for_each(|records| records.push(document.id.clone()));
                    let request = IngestRequest {
                        document: Some(document),
                        ..as_request.clone()
                    };
                    // It waits for the retriever, which few documents are ahead of.
                    if sender.blocking_send(request).is_err() {
                        return false;
                    }
                    bar.set_position(before + within.min(bytes));
                }
                Err(skipped) => {
                    file.is_complete = false;
                    read.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .unreadable
                        .push(skipped);
                }
            }
        }
        read.lock().unwrap_or_else(PoisonError::into_inner).files.push(file);
        before += bytes;
        bar.set_position(before);
    }
    true
}

/// Fetches pages one after the other: a site is not asked for more at once.
async fn fetch_all(
    pages: &[PageSource],
    collection: &str,
    sender: &mpsc::Sender<IngestRequest>,
    read: &Mutex<Read>,
    stop: &CancellationToken,
    bar: &ProgressBar,
) {
    for page in pages {
        bar.set_message(printable_line(page.id()));
        match page.read(stop).await {
            Ok(document) => {
                let request = IngestRequest {
                    collection: collection.to_owned(),
                    document: Some(document),
                    ..IngestRequest::default()
                };
                if sender.send(request).await.is_err() {
                    return;
                }
            }
            Err(NoPage::Failed(skipped)) => {
                read.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .unreadable
                    .push(skipped);
            }
            Err(NoPage::Gone(skipped)) => read.lock().unwrap_or_else(PoisonError::into_inner).gone.push(skipped),
            Err(NoPage::Stopped) => return,
        }
    }
}

#[cfg(test)]
mod tests;

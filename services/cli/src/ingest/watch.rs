//! `emend ingest --watch`: follows the changes in folders until it is ended.

mod queue;
mod shelf;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result, anyhow, bail};
use emend_core::{Backoff, printable_line};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};

use self::{
    queue::{Batch, Queue},
    shelf::{Shelf, Stamp},
};
use super::{
    Retriever, ingest_with, name_skipped,
    outcome::{Change, Outcome, report},
    prune::{self, Prune},
    send::{Sending, Sent},
};
use crate::{
    args::IngestOptions,
    documents::{self, FileKind, Part, Reading, is_address},
    terminal,
};

/// Waits for a retriever that does not answer.
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));

/// Folders whose changes are followed.
pub(super) struct Watch {
    folders: Vec<Folder>,
    reading: Reading,
}

/// A folder, and which one it was at the start.
struct Folder {
    path: PathBuf,
    stamp: Stamp,
}

impl Folder {
    /// Whether it is still there. What is below it must not be taken for removed where it is not.
    fn check(&self) -> Result<()> {
        let path = self.path.display();
        match Stamp::of(&self.path) {
            Some(now) if now.is_same_file(&self.stamp) => Ok(()),
            Some(_) => bail!(
                "{path} was replaced by another folder; nothing was removed because of it; start again to follow it"
            ),
            None => bail!("{path} is gone; nothing was removed from the collection because of it"),
        }
    }
}

/// The collection that follows the folders, and what was said of it so far.
struct Following<'a> {
    client: Retriever,
    options: &'a IngestOptions,
    shelf: Shelf,
    outcome: Outcome,
}

impl Watch {
    /// Folders to follow.
    ///
    /// # Errors
    /// A path does not exist, or is no folder.
    pub(super) fn new(paths: &[PathBuf], reading: Reading) -> Result<Self> {
        let mut folders = Vec::new();
        for given in paths {
            if is_address(given) {
                bail!(
                    "--watch follows folders, and {} is a page; ingest it again from time to time",
                    given.display()
                );
            }
            let cannot = || format!("cannot read {}", given.display());
            let path = fs::canonicalize(given).with_context(cannot)?;
            if !path.is_dir() {
                bail!(
                    "--watch follows folders, and {} is none; give the folder that it is in",
                    given.display()
                );
            }
            let stamp = Stamp::of(&path).with_context(cannot)?;
            folders.push(Folder { path, stamp });
        }
        Ok(Self { folders, reading })
    }

    fn paths(&self) -> Vec<PathBuf> {
        self.folders.iter().map(|folder| folder.path.clone()).collect()
    }

    /// Ingests the folders, then each change, until `stop`. Returns what became of all documents.
    ///
    /// # Errors
    /// A folder cannot be watched or is gone, or the retriever refuses documents for good.
    pub(super) async fn run(
        self,
        client: Retriever,
        options: &IngestOptions,
        stop: &CancellationToken,
    ) -> Result<Outcome> {
        let queue = Arc::new(Queue::default());
        // From here on no change is missed, however long the first look takes.
        let watcher = {
            let (queue, paths) = (Arc::clone(&queue), self.paths());
            tokio::task::spawn_blocking(move || watcher(&paths, queue)).await??
        };
        let mut following = Following {
            client,
            options,
            shelf: Shelf::default(),
            outcome: Outcome::default(),
        };
        let begun = stop.run_until_cancelled(self.begin(&mut following)).await;
        if begun.transpose()?.is_some() {
            self.follow(&queue, &mut following, stop).await?;
        }
        drop(watcher);
        Ok(following.outcome)
    }

    /// The first look at the folders.
    async fn begin(&self, following: &mut Following<'_>) -> Result<()> {
        let (found, stamps) = self.look(None).await?;
        if self.reading.fields.are_named() && !found.sources.is_empty() {
            found.check_fields()?;
        }
        name_skipped(&found.skipped);
        following.shelf.know_skipped(&found.skipped);
        let collection = &following.options.stored.collection;
        let (outcome, files) = ingest_with(&following.client, collection, found, Prune::Owned).await?;
        for file in files {
            following.shelf.put(file, &stamps);
        }
        following.outcome = outcome;
        let folders: Vec<String> = self
            .folders
            .iter()
            .map(|folder| folder.path.display().to_string())
            .collect();
        if following.options.json {
            let mut ready = following.outcome.summary();
            if let Some(fields) = ready.as_object_mut() {
                fields.insert("event".to_owned(), json!("watching"));
                fields.insert("folders".to_owned(), json!(folders));
            }
            terminal::print_json(&ready, false)
        } else {
            report(&following.outcome);
            let folders: Vec<String> = folders.iter().map(|folder| printable_line(folder)).collect();
            terminal::eprintln(format_args!("watching {}; Ctrl-C ends", folders.join(", ")));
            Ok(())
        }
    }

    /// Takes one batch of changes after another.
    async fn follow(&self, queue: &Queue, following: &mut Following<'_>, stop: &CancellationToken) -> Result<()> {
        let mut tries = 0;
        loop {
            let batch = tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                batch = queue.next() => batch,
                () = pause(following.options.rescan) => Batch::Everything,
            };
            let Some(taken) = stop.run_until_cancelled(self.take(&batch, following)).await else {
                return Ok(());
            };
            let Err(error) = taken else {
                tries = 0;
                continue;
            };
            let said = match error.downcast_ref::<Status>() {
                Some(status) if may_pass(status) => printable_line(status.message()),
                _ => return Err(error),
            };
            tries += 1;
            let wait = BACKOFF.jittered(tries, Duration::ZERO);
            terminal::eprintln(format_args!(
                "the retriever takes no documents: {}; trying again in {} s",
                said,
                wait.as_secs().max(1)
            ));
            queue.put_back(batch);
            if stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                return Ok(());
            }
        }
    }

    /// Brings the collection to what the folders hold now.
    async fn take(&self, batch: &Batch, following: &mut Following<'_>) -> Result<()> {
        for folder in &self.folders {
            folder.check()?;
        }
        let paths = match batch {
            Batch::Paths(paths) if !paths.iter().any(|path| self.reading.selection.depends_on(path)) => Some(paths),
            Batch::Paths(_) | Batch::Everything => None,
        };
        let part = paths.map(|paths| Arc::new(Part::new(paths.clone())));
        let (found, stamps) = self.look(part.as_ref()).await?;
        let is_named = |path: &Path| paths.is_some_and(|paths| paths.contains(path));
        let json = following.options.json;
        for skipped in following.shelf.new_skipped(&found.skipped) {
            following.outcome.skip(&skipped);
            let (file, reason) = (skipped.source, skipped.reason);
            Change::Skipped { file, reason }.show(json)?;
        }
        let gone = following.shelf.gone(&found, part.as_deref());
        let changed = found.sources.into_iter().filter(|source| {
            let path = source.path();
            is_named(path) || !following.shelf.has(path, stamps.get(path))
        });
        let changed: Vec<_> = changed.collect();
        let looked_at = changed.iter().map(|source| source.path());
        looked_at
            .chain(gone.iter().map(PathBuf::as_path))
            .for_each(|path| following.outcome.forget(path));
        let mut sent = Sent::default();
        if !changed.is_empty() {
            let mut shown = Ok(());
            let outcome = &mut following.outcome;
            let mut tell = |change: &Change| {
                outcome.count(change);
                if shown.is_ok() {
                    shown = change.show(json);
                }
            };
            let sending = Sending::new(
                &following.client,
                &following.options.stored.collection,
                changed,
                &found.fields,
            );
            sent = sending.send(&mut tell).await?;
            shown?;
        }
        for skipped in &sent.unreadable {
            let (source, reason) = (skipped.source.clone(), skipped.reason.clone());
            following.outcome.leave(skipped);
            let change = if skipped.kind == FileKind::LongLine {
                Change::Skipped { file: source, reason }
            } else {
                Change::Failed {
                    document: source,
                    reason,
                }
            };
            change.show(json)?;
        }
        let removed = following.shelf.removed_by(&gone, &sent.files);
        prune::delete(&following.client, &following.options.stored.collection, &removed).await?;
        for document in removed {
            let change = Change::Removed { document };
            following.outcome.count(&change);
            change.show(json)?;
        }
        for path in gone {
            following.shelf.remove(&path);
        }
        for file in sent.files {
            following.shelf.put(file, &stamps);
        }
        Ok(())
    }

    /// The files of the folders, or of a part of them, and what they were before they are read.
    async fn look(&self, part: Option<&Arc<Part>>) -> Result<(documents::Found, shelf::Stamps)> {
        let (roots, reading, part) = (self.paths(), self.reading.clone(), part.cloned());
        let look = move || {
            let mut found = documents::find_in(&roots, &reading, part.as_ref());
            found.roots = roots;
            let paths = found.sources.iter().map(|source| source.path());
            let stamps = paths
                .filter_map(|path| Some((path.to_owned(), Stamp::of(path)?)))
                .collect();
            (found, stamps)
        };
        tokio::task::spawn_blocking(look)
            .await
            .context("looking at the folders failed")
    }
}

/// Until the folders are to be looked at again anyway; for ever where they are not.
async fn pause(interval: Option<Duration>) {
    match interval {
        Some(interval) => tokio::time::sleep(interval).await,
        None => std::future::pending().await,
    }
}

/// Whether a call may succeed later.
fn may_pass(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unavailable
            | Code::ResourceExhausted
            | Code::DeadlineExceeded
            | Code::Aborted
            | Code::Cancelled
            | Code::Unknown
    )
}

/// Watches folders and all below them.
fn watcher(folders: &[PathBuf], queue: Arc<Queue>) -> Result<RecommendedWatcher> {
    let config = notify::Config::default().with_follow_symlinks(false);
    let mut watcher = RecommendedWatcher::new(move |event| queue.add(event), config)?;
    for folder in folders {
        watcher
            .watch(folder, RecursiveMode::Recursive)
            .map_err(|error| cannot_watch(folder, &error))?;
    }
    Ok(watcher)
}

fn cannot_watch(folder: &Path, error: &notify::Error) -> anyhow::Error {
    let advice = match error.kind {
        notify::ErrorKind::MaxFilesWatch => {
            "; it has more folders than may be watched: raise fs.inotify.max_user_watches, or watch a smaller folder"
        }
        _ => "",
    };
    anyhow!("cannot watch {}: {error}{advice}", folder.display())
}

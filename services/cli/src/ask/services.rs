//! Where questions go: a running orchestrator, or services of this process and their documents.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use emend_chassis::TracedChannel;
use indicatif::ProgressBar;
use sha2::{Digest as _, Sha256};
use tokio_util::task::AbortOnDropHandle;

use crate::{
    args::AskOptions,
    cluster::{Cluster, Component, Plan},
    documents::Found,
    ingest::{self, Outcome, Pending, Prune},
    progress, terminal,
};

/// An orchestrator, and the collection that it answers from.
pub(super) struct Services {
    /// The services, where they run in this process.
    cluster: Option<Cluster>,
    pub(super) channel: TracedChannel,
    pub(super) collection: String,
    /// Documents that are found by their words, while they are embedded.
    embedding: Option<Embedding>,
}

/// Documents that are being embedded in the background. Dropping it stops that; it goes on with their next ingest.
struct Embedding {
    task: AbortOnDropHandle<Result<Outcome>>,
    bar: ProgressBar,
}

impl Embedding {
    fn start(pending: Pending) -> Self {
        let bar = progress::in_background("embedding", pending.bytes());
        let task = AbortOnDropHandle::new(tokio::spawn(pending.embed(bar.clone())));
        Self { task, bar }
    }
}

impl Services {
    /// Connects to the orchestrator of the options, else starts all services here.
    pub(super) async fn start(options: &AskOptions) -> Result<Self> {
        let collection = options.collection.clone().unwrap_or_default();
        let (cluster, channel) = match &options.url {
            Some(url) => (None, options.connect.upstream(url)?.channel()),
            None => {
                let cluster = Cluster::start(&options.local, Plan::default()).await?;
                let channel = cluster.channel(Component::Orchestrator)?;
                (Some(cluster), channel)
            }
        };
        Ok(Self {
            cluster,
            channel,
            collection,
            embedding: None,
        })
    }

    /// Stores documents, which questions are answered from then. Without a collection in the options it is one of their
    /// own. Many documents are embedded in the background, unless the result is JSON, which comes once.
    pub(super) async fn ingest(&mut self, options: &AskOptions, docs: &[PathBuf], found: Found) -> Result<()> {
        let Some(cluster) = &self.cluster else {
            bail!("documents are stored where the services run: emend ingest --url RETRIEVER FOLDER");
        };
        // An automatic collection mirrors the files; one that the user named may have other documents.
        let (collection, prune) = match &options.collection {
            None => {
                let name = collection_of(docs, &options.local.embedder.embedder.space())?;
                (name, Prune::Everything)
            }
            Some(name) => (name.clone(), Prune::Nothing),
        };
        let channel = cluster.channel(Component::Retriever)?;
        let (outcome, pending) = match options.json {
            Some(_) => (ingest::ingest(channel, &collection, found, prune).await?, None),
            None => ingest::ingest_words_first(channel, &collection, found, prune).await?,
        };
        if options.json.is_none() || !outcome.failed.is_empty() {
            ingest::report(&outcome);
        }
        if outcome.ingested + outcome.unchanged == 0 {
            bail!("no document could be stored; see the reasons above");
        }
        self.collection = collection;
        self.embedding = pending.map(Embedding::start);
        if self.embedding.is_some() {
            terminal::eprintln("They are found by their words until they are embedded, which goes on meanwhile.");
        }
        Ok(())
    }

    /// How many percent of the bytes of the documents are embedded; `None` where nothing is being embedded.
    pub(super) fn embedded_percent(&self) -> Option<u64> {
        let Embedding { task, bar } = self.embedding.as_ref()?;
        let total = bar.length().unwrap_or_default().max(1);
        (!task.is_finished()).then(|| bar.position().min(total) * 100 / total)
    }

    /// Waits until all documents are embedded, and shows how far that is.
    ///
    /// # Errors
    /// The retriever became unreachable.
    pub(super) async fn embedded(&mut self) -> Result<()> {
        let Some(Embedding { task, bar }) = &mut self.embedding else {
            return Ok(());
        };
        progress::show(bar);
        let ended = task.await;
        bar.finish_and_clear();
        self.embedding = None;
        let outcome = ended.context("embedding the documents broke off")??;
        if !outcome.failed.is_empty() {
            ingest::report(&outcome);
        }
        Ok(())
    }

    pub(super) async fn stop(mut self) {
        self.embedding = None;
        if let Some(cluster) = self.cluster {
            cluster.stop().await;
        }
    }
}

/// The name of the collection that mirrors `paths`. It depends only on the canonical paths and the space of the embedder's vectors,
/// not on the current folder.
pub(crate) fn collection_of(paths: &[PathBuf], space: &str) -> Result<String> {
    let mut hash = Sha256::new();
    hash.update(space.as_bytes());
    let mut full = Vec::new();
    for path in paths {
        let path = std::fs::canonicalize(path).with_context(|| format!("cannot read {}", path.display()))?;
        full.push(path);
    }
    full.sort();
    full.dedup();
    for path in &full {
        hash.update([0]);
        hash.update(path.as_os_str().as_encoded_bytes());
    }
    let digest = hash.finalize();
    let suffix: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("docs-{}-{suffix}", slug(full.first().map(PathBuf::as_path))))
}

/// The last component of a path, reduced to the characters of a collection name.
fn slug(path: Option<&Path>) -> String {
    let name = path
        .and_then(Path::file_name)
        .map(|name| name.to_string_lossy().into_owned());
    let slug: String = name
        .unwrap_or_default()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(c))
        .take(32)
        .collect();
    if slug.is_empty() { "files".to_owned() } else { slug }
}

#[cfg(test)]
mod tests;

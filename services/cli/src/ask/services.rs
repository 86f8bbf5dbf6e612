//! Where questions go: a running orchestrator, or services of this process and their documents.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use emend_chassis::TracedChannel;
use sha2::{Digest as _, Sha256};

use crate::{
    args::AskOptions,
    cluster::{Cluster, Component, Plan},
    documents::Found,
    ingest::{self, Prune},
};

/// An orchestrator, and the collection that it answers from.
pub(super) struct Services {
    /// The services, where they run in this process.
    cluster: Option<Cluster>,
    pub(super) channel: TracedChannel,
    pub(super) collection: String,
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
        })
    }

    /// Stores documents, which questions are answered from then. Without a collection in the options it is one of their
    /// own.
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
        let outcome = ingest::ingest(cluster.channel(Component::Retriever)?, &collection, found, prune).await?;
        if options.json.is_none() || !outcome.failed.is_empty() {
            ingest::report(&outcome);
        }
        if outcome.ingested + outcome.unchanged == 0 {
            bail!("no document could be stored; see the reasons above");
        }
        self.collection = collection;
        Ok(())
    }

    pub(super) async fn stop(self) {
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

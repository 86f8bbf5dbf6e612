//! The documents of one question set, in services of their own.

use std::{fs, time::Instant};

use anyhow::{Result, bail};
use emend_eval::{data::QuestionSet, qa, report::SetReport};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::{
    args::{LocalOptions, SetOptions},
    cluster::{Cluster, Component, Plan},
    documents::{self, Reading},
    ingest::{self, Prune},
};

/// Running services for one set. The web corpus of the set stands in for the web.
pub(super) struct Corpus {
    cluster: Cluster,
    collection: String,
    _folder: TempDir,
}

/// Stores the documents of a set with services of their own, a retriever among them, and does `work` with those and the name
/// of the collection. `None` when it is stopped before.
///
/// # Errors
/// A document cannot be read or stored, a service cannot start, or the work fails.
pub(super) async fn searched<T>(
    set: &QuestionSet,
    available: usize,
    (options, services): (&SetOptions, &[Component]),
    stop: &CancellationToken,
    work: impl AsyncFnOnce(&Cluster, &str) -> Result<T>,
) -> Result<Option<T>> {
    let Some(corpus) = Corpus::start(set, &options.local, Plan::only(services), stop).await? else {
        return Ok(None);
    };
    let worked = async {
        if corpus.store(set, available, stop).await?.is_none() {
            return Ok(None);
        }
        work(corpus.cluster(), corpus.collection()).await.map(Some)
    }
    .await;
    corpus.stop().await;
    worked
}

impl Corpus {
    /// Starts the services of a plan. The documents go to a temporary folder unless the options name one. `None` when it is
    /// stopped before they serve.
    ///
    /// # Errors
    /// The web corpus cannot be read, or a service cannot start.
    pub(super) async fn start(
        set: &QuestionSet,
        options: &LocalOptions,
        plan: Plan,
        stop: &CancellationToken,
    ) -> Result<Option<Self>> {
        let folder = tempfile::tempdir()?;
        let web = folder.path().join("web");
        fs::create_dir(&web)?;
        if let Some(corpus) = &set.web {
            fs::copy(corpus, web.join("web.jsonl"))?;
        }
        let mut local = options.clone();
        local.data_dir.get_or_insert_with(|| folder.path().join("data"));
        local.web_folder.get_or_insert(web);
        // A question set brings its own web.
        local.web.provider = vec![emend_web_search::ProviderKind::Folder];
        let Some(cluster) = stop.run_until_cancelled(Cluster::start(&local, plan)).await else {
            return Ok(None);
        };
        Ok(Some(Self {
            cluster: cluster?,
            // A collection of its own keeps the user's data out of it.
            collection: format!("eval-{}", set.name),
            _folder: folder,
        }))
    }

    pub(super) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The collection that [`store`](Self::store) fills.
    pub(super) fn collection(&self) -> &str {
        &self.collection
    }

    /// Stores the local corpus. `None` when it is stopped before the end.
    ///
    /// # Errors
    /// A document cannot be read or stored.
    pub(super) async fn store(
        &self,
        set: &QuestionSet,
        available: usize,
        stop: &CancellationToken,
    ) -> Result<Option<SetReport>> {
        let began = Instant::now();
        let found = documents::find(std::slice::from_ref(&set.local), &Reading::default())?;
        let retriever = self.cluster.channel(Component::Retriever)?;
        let storing = ingest::ingest(retriever, &self.collection, found, Prune::Everything);
        let Some(outcome) = stop.run_until_cancelled(storing).await else {
            return Ok(None);
        };
        let outcome = outcome?;
        if let Some((document, reason)) = outcome.failed.first_key_value() {
            bail!(
                "{} documents could not be stored; {document}: {reason}",
                outcome.failed.len()
            );
        }
        let documents = outcome.ingested + outcome.unchanged;
        let report = qa::stored(set, available, documents, outcome.passages, began.elapsed());
        Ok(Some(report))
    }

    pub(super) async fn stop(self) {
        self.cluster.stop().await;
    }
}

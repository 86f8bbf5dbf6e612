//! The provider `folder`: saved pages take the place of the web.
//!
//! It is for machines without web access or an API key, for a chosen corpus of pages, and for
//! tests: the same folder gives the same passages.

mod front_matter;
mod library;
mod page;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use emend_core::Scope;
use emend_proto::v1::Passage;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::choice::{choose, passage};
use super::{Provider, Search, SearchResults};
use crate::error::{LoadError, SearchError};
use library::Library;

/// How long a query waits until changed pages are read. Reading continues after that, and the query
/// searches the pages read before.
const REFRESH_PATIENCE: Duration = Duration::from_secs(2);

/// A folder of saved pages. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Folder {
    inner: Arc<Inner>,
    /// Reading ends with the last clone.
    _closing: Arc<DropGuard>,
}

/// How a folder is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FolderSettings {
    /// Shortest time between two checks for changed files.
    pub check_every: Duration,
    /// Most characters of a passage; at least 1.
    pub passage_chars: usize,
}

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    settings: FolderSettings,
    library: ArcSwap<Library>,
    /// Cancelled when nobody searches any more.
    closed: CancellationToken,
    /// When the folder was last checked. The task that checks it holds the lock.
    checked: Arc<tokio::sync::Mutex<Instant>>,
}

impl Folder {
    /// Reads the pages of `folder`. Dropping the future stops reading.
    ///
    /// # Errors
    /// [`LoadError::Folder`] when it cannot be read. A page in it that cannot be read is logged and left out.
    pub async fn open(folder: PathBuf, settings: FolderSettings) -> Result<Self, LoadError> {
        let path = folder.clone();
        let closed = CancellationToken::new();
        let closing = Arc::new(closed.clone().drop_guard());
        let token = closed.clone();
        let opened = tokio::task::spawn_blocking(move || Library::open(&path, settings.passage_chars, &token)).await;
        let library = match opened {
            Ok(Ok(library)) => library,
            Ok(Err(source)) => return Err(LoadError::Folder { folder, source }),
            Err(_) => return Err(LoadError::Interrupted { folder }),
        };
        let checked = Arc::new(tokio::sync::Mutex::new(Instant::now()));
        Ok(Self {
            inner: Arc::new(Inner {
                folder,
                settings,
                library: ArcSwap::from_pointee(library),
                closed,
                checked,
            }),
            _closing: closing,
        })
    }

    /// Checks for changed files if a check is due. One query at a time does so; the others search
    /// what is loaded.
    async fn refresh_where_due(&self) {
        let Ok(mut checked) = Arc::clone(&self.inner.checked).try_lock_owned() else {
            return;
        };
        if checked.elapsed() < self.inner.settings.check_every {
            return;
        }
        let inner = Arc::clone(&self.inner);
        // The task holds the lock until it ends, even if the query stops waiting.
        let refresh = tokio::task::spawn_blocking(move || {
            let library = inner.library.load_full();
            if let Some(newer) = library.refreshed(&inner.folder, inner.settings.passage_chars, &inner.closed) {
                inner.library.store(Arc::new(newer));
            }
            *checked = Instant::now();
        });
        match tokio::time::timeout(REFRESH_PATIENCE, refresh).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "reading changed pages broke off; searching those read before"),
            Err(_) => tracing::debug!("reading changed pages takes long; searching those read before"),
        }
    }
}

impl Provider for Folder {
    fn name(&self) -> &'static str {
        "folder"
    }

    fn search(&self, search: Search, _scope: Scope) -> BoxFuture<'_, Result<SearchResults, SearchError>> {
        async move {
            self.refresh_where_due().await;
            let library = self.inner.library.load_full();
            let span = tracing::Span::current();
            let found = tokio::task::spawn_blocking(move || span.in_scope(|| passages(&library, &search))).await;
            found
                .map(|passages| SearchResults {
                    passages,
                    provider: self.name(),
                })
                .map_err(|_| SearchError::Failed { provider: self.name() })
        }
        .boxed()
    }
}

fn passages(library: &Library, search: &Search) -> Vec<Passage> {
    let hits = library
        .index
        .search(&search.query, |page| search.domains.admits(page.domain.as_ref()));
    let mut chosen = choose(hits, search.max_results);
    chosen.sort_by(|a, b| b.score.total_cmp(&a.score));
    chosen.iter().map(passage).collect()
}

#[cfg(test)]
mod tests;

//! The provider `folder`: saved pages take the place of the web.
//!
//! It is for machines without web access or an API key, for a chosen corpus of pages, and for
//! tests: the same folder gives the same passages.

mod front_matter;
mod html;
mod index;
mod library;
mod page;
mod window;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use emend_core::Scope;
use emend_proto::v1::{Origin, Passage};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use super::{Provider, Search};
use crate::error::{LoadError, SearchError};
use index::Hit;
use library::Library;

/// How long a query waits until changed pages are read. Reading continues after that, and the query
/// searches the pages read before.
const REFRESH_PATIENCE: Duration = Duration::from_secs(2);
/// Most passages of one page. Every page gets its first passage before any page gets a second one.
const PASSAGES_A_PAGE: usize = 3;

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

    fn search(&self, search: Search, _scope: Scope) -> BoxFuture<'_, Result<Vec<Passage>, SearchError>> {
        async move {
            self.refresh_where_due().await;
            let library = self.inner.library.load_full();
            let span = tracing::Span::current();
            let found = tokio::task::spawn_blocking(move || span.in_scope(|| passages(&library, &search))).await;
            found.map_err(|_| SearchError::Failed { provider: self.name() })
        }
        .boxed()
    }
}

fn passages(library: &Library, search: &Search) -> Vec<Passage> {
    let hits = library
        .index
        .search(&search.query, |page| search.domains.admits(page.domain.as_ref()));
    choose(hits, search.max_results).iter().map(passage).collect()
}

/// Chooses up to `most` hits, best first: one window of each page, then further windows of these
/// pages that do not overlap those chosen.
fn choose(hits: Vec<Hit<'_>>, most: usize) -> Vec<Hit<'_>> {
    let mut chosen: Vec<Hit<'_>> = Vec::new();
    let mut texts = HashSet::new();
    for round in 0..PASSAGES_A_PAGE {
        for hit in &hits {
            if chosen.len() == most {
                break;
            }
            let page = &hit.window.page;
            let of_page = || chosen.iter().filter(|other| other.window.page.url == page.url);
            let apart = || {
                of_page().all(|other| {
                    hit.window.range.end <= other.window.range.start || other.window.range.end <= hit.window.range.start
                })
            };
            // A page that was saved twice counts once.
            if of_page().count() == round && apart() && texts.insert(&page.text[hit.window.range.clone()]) {
                chosen.push(hit.clone());
            }
        }
    }
    chosen.sort_by(|a, b| b.score.total_cmp(&a.score));
    chosen
}

fn passage(hit: &Hit<'_>) -> Passage {
    let page = &hit.window.page;
    let text = &page.text[hit.window.range.clone()];
    Passage {
        // The id depends on the URL and the text, so that the same text at the same URL keeps its
        // id.
        id: Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("{}\n{text}", page.url).as_bytes()).to_string(),
        document_id: page.url.to_string(),
        title: page.title.clone(),
        text: text.to_owned(),
        origin: Origin::Web.into(),
        source: page.url.to_string(),
        score: hit.score,
        span: None,
        retrieved_at: Some(page.saved.into()),
        metadata: page.metadata.clone(),
        pieces: Vec::new(),
    }
}

#[cfg(test)]
mod tests;

//! A search engine with the pages that it finds.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use emend_core::{Deadline, Reserve, Scope, error_chain};
use emend_proto::v1::Passage;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use moka::sync::Cache;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::choice::{choose, passage};
use super::engine::{Engine, WebResult};
use super::index::Index;
use super::page::Page;
use super::pages::PageReader;
use super::rate::{Rate, RateLimit};
use super::{Provider, Search, SearchResults};
use crate::error::SearchError;
use emend_pages::Domain;

/// Pages of one search that are fetched at the same time.
const PAGES_AT_ONCE: usize = 8;
/// A pause after a refusal for its rate that names none.
const DEFAULT_PAUSE: Duration = Duration::from_secs(1);

/// How an engine is used.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WebSettings {
    /// Most searches.
    pub(crate) rate: Rate,
    /// How long results are kept; zero keeps none.
    pub(crate) cache_ttl: Duration,
    /// Most bytes of results that are kept.
    pub(crate) cache_bytes: u64,
    /// Most characters of a passage; at least 1.
    pub(crate) passage_chars: usize,
}

/// An engine, and the reader of its pages.
pub(super) struct Web {
    engine: Arc<dyn Engine>,
    reader: Arc<PageReader>,
    limit: RateLimit,
    passage_chars: usize,
    kept: Option<Kept>,
}

/// Results of searches, for a time.
struct Kept {
    ttl: Duration,
    /// With when they were found. The cache frees them after the time; by which clock they count is told here.
    found: Cache<Search, (Instant, Arc<Vec<Passage>>)>,
}

impl Kept {
    /// Keeps results for `ttl`, and at most so many bytes of them.
    fn new(ttl: Duration, bytes: u64) -> Self {
        let found = Cache::builder()
            .max_capacity(bytes)
            .weigher(|search: &Search, (_, passages): &(Instant, Arc<Vec<Passage>>)| {
                let texts = passages.iter().map(|passage| passage.text.len() + 512).sum::<usize>();
                u32::try_from(search.query.len() + texts).unwrap_or(u32::MAX)
            })
            .time_to_live(ttl)
            .build();
        Self { ttl, found }
    }

    fn get(&self, search: &Search) -> Option<Arc<Vec<Passage>>> {
        let (since, passages) = self.found.get(search)?;
        (since.elapsed() < self.ttl).then_some(passages)
    }

    fn keep(&self, search: Search, passages: Vec<Passage>) {
        self.found.insert(search, (Instant::now(), Arc::new(passages)));
    }
}

impl Web {
    pub(super) fn new(engine: Arc<dyn Engine>, reader: Arc<PageReader>, settings: &WebSettings) -> Self {
        let kept = !settings.cache_ttl.is_zero();
        Self {
            engine,
            reader,
            limit: RateLimit::new(settings.rate),
            passage_chars: settings.passage_chars,
            kept: kept.then(|| Kept::new(settings.cache_ttl, settings.cache_bytes)),
        }
    }

    async fn passages(&self, search: &Search, scope: &Scope) -> Result<Vec<Passage>, SearchError> {
        let provider = self.engine.name();
        self.limit.admit(scope).await.map_err(|wait| SearchError::RateLimited {
            provider,
            retry_after: Some(wait),
        })?;
        let found = self.engine.find(search, scope).await;
        if let Err(SearchError::RateLimited { retry_after, .. }) = &found {
            self.limit.pause_for(retry_after.unwrap_or(DEFAULT_PAUSE));
        }
        let mut results = found?;
        results.retain(|result| self.reader.admits(&result.url, &search.domains));
        let mut seen = std::collections::HashSet::new();
        results.retain(|result| seen.insert(result.url.clone()));
        let until = scope.deadline.keeping(Reserve::PARTIAL_RESULT);
        let pages = stream::iter(results)
            .map(|result| self.page(result, search, until))
            .buffered(PAGES_AT_ONCE)
            .filter_map(std::future::ready)
            .collect::<Vec<Page>>()
            .await;
        let (search, chars, gone) = (search.clone(), self.passage_chars, scope.cancel.clone());
        let chosen = tokio::task::spawn_blocking(move || best(pages, &search, chars, &gone));
        chosen.await.map_err(|_| SearchError::Failed { provider })
    }

    /// The page of `result`, or what the engine says of it if it cannot be had by `until`.
    async fn page(&self, result: WebResult, search: &Search, until: Deadline) -> Option<Page> {
        let read = until.run(self.reader.read(&result, &search.domains)).await;
        match read {
            Ok(Ok(page)) => return Some(page),
            Ok(Err(error)) => tracing::debug!(
                host = result.url.host_str(),
                error = error_chain(&error),
                "a page was not read; using the search engine's snippet"
            ),
            Err(_) => tracing::debug!(host = result.url.host_str(), "no time is left to read a page"),
        }
        let text = result.snippet.trim().to_owned();
        text.contains(char::is_alphanumeric).then(|| Page {
            domain: Domain::of(&result.url),
            url: result.url,
            title: result.title,
            text,
            saved: SystemTime::now(),
            metadata: result
                .published
                .map(|date| ("published".to_owned(), date))
                .into_iter()
                .chain([("read".to_owned(), "snippet".to_owned())])
                .collect(),
        })
    }
}

/// The passages of `pages` that fit the query, in the order in which the engine found the pages. None if the caller is
/// `gone`.
fn best(pages: Vec<Page>, search: &Search, chars: usize, gone: &CancellationToken) -> Vec<Passage> {
    let pages: Vec<Arc<Page>> = pages.into_iter().map(Arc::new).collect();
    let Some(index) = Index::build(pages.iter().cloned(), chars, gone) else {
        return Vec::new();
    };
    let mut hits = index.search(&search.query, |_| true);
    let rank = |page: &Arc<Page>| {
        pages
            .iter()
            .position(|other| Arc::ptr_eq(page, other))
            .unwrap_or(usize::MAX)
    };
    // Within a page the best window comes first, for the sort is stable.
    hits.sort_by_key(|hit| rank(&hit.window.page));
    let mut chosen = choose(hits, search.max_results);
    // An engine's order is all that is known of how good its pages are.
    for (place, hit) in chosen.iter_mut().enumerate() {
        hit.score = 1.0 / (1.0 + place as f64);
    }
    chosen.iter().map(passage).collect()
}

impl Provider for Web {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn search(&self, search: Search, scope: Scope) -> BoxFuture<'_, Result<SearchResults, SearchError>> {
        async move {
            let known = self.kept.as_ref().and_then(|kept| kept.get(&search));
            let passages = match known {
                Some(known) => known.to_vec(),
                None => {
                    let found = self.passages(&search, &scope).await?;
                    if let Some(kept) = &self.kept {
                        kept.keep(search, found.clone());
                    }
                    found
                }
            };
            Ok(SearchResults {
                passages,
                provider: self.name(),
            })
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;

//! Search engines: they find the addresses of pages.

mod brave;
mod http;
mod searxng;
mod tavily;

use emend_core::Scope;
use futures::future::BoxFuture;
use url::Url;

use super::Search;
use crate::error::SearchError;

pub(super) use brave::Brave;
pub(super) use searxng::SearxNg;
pub(super) use tavily::Tavily;

/// Most characters of a query that is sent: the engines take no longer ones.
const MAX_QUERY_CHARS: usize = 400;
/// Most results to ask an engine for, which is most that they send at once.
const MAX_RESULTS: usize = 20;

/// Finds pages.
pub(super) trait Engine: Send + Sync {
    /// Its name in responses, logs and spans.
    fn name(&self) -> &'static str;

    /// The pages that the engine finds, best first. It may ignore the domains of the search: the caller filters.
    ///
    /// # Errors
    /// [`SearchError`] if the engine cannot be reached, refuses, or sends something else than results.
    fn find<'a>(&'a self, search: &'a Search, scope: &'a Scope) -> BoxFuture<'a, Result<Vec<WebResult>, SearchError>>;
}

/// A page as an engine describes it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WebResult {
    /// Its address, http or https.
    pub(super) url: Url,
    /// Its title; may be empty.
    pub(super) title: String,
    /// What the engine shows of it; may be empty.
    pub(super) snippet: String,
    /// When it was published, as the engine writes it.
    pub(super) published: Option<String>,
}

/// The query as it is sent: on one line, cut after a word at [`MAX_QUERY_CHARS`].
fn sent_query(query: &str) -> String {
    let mut sent = String::new();
    let mut chars = 0;
    for word in query.split_whitespace() {
        let added = word.chars().count() + usize::from(!sent.is_empty());
        if chars + added > MAX_QUERY_CHARS {
            // Text without spaces is cut within.
            if sent.is_empty() {
                sent = word.chars().take(MAX_QUERY_CHARS).collect();
            }
            break;
        }
        if !sent.is_empty() {
            sent.push(' ');
        }
        sent.push_str(word);
        chars += added;
    }
    sent
}

/// How many results to ask for: some more than passages, for pages that cannot be read.
fn wanted(search: &Search) -> usize {
    (search.max_results + 2).min(MAX_RESULTS)
}

#[cfg(test)]
mod tests;

//! SearXNG, a search engine that a user runs: <https://docs.searxng.org/dev/search_api.html>.

use emend_core::Scope;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;

use super::http::Endpoint;
use super::{Engine, Search, WebResult, sent_query, wanted};
use crate::backend::page::web_url;
use crate::error::{LoadError, SearchError};

pub(in crate::backend) struct SearxNg {
    endpoint: Endpoint,
}

impl SearxNg {
    /// The instance at `base`.
    ///
    /// # Errors
    /// [`LoadError::Address`] if `base` is not an http or https URL.
    pub(in crate::backend) fn new(base: &str) -> Result<Self, LoadError> {
        let advice = "allow `json` among the search formats of its settings.yml, and this address in its limiter";
        Ok(Self {
            endpoint: Endpoint::new("searxng", base, "/search", advice)?,
        })
    }
}

#[derive(Deserialize)]
struct Reply {
    results: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    url: Option<String>,
    title: Option<String>,
    content: Option<String>,
    #[serde(rename = "publishedDate")]
    published_date: Option<String>,
}

impl Engine for SearxNg {
    fn name(&self) -> &'static str {
        "searxng"
    }

    fn find<'a>(&'a self, search: &'a Search, scope: &'a Scope) -> BoxFuture<'a, Result<Vec<WebResult>, SearchError>> {
        async move {
            let mut url = self.endpoint.url();
            url.query_pairs_mut()
                .append_pair("q", &sent_query(&search.query))
                .append_pair("format", "json");
            let reply: Reply = self
                .endpoint
                .json("GET", self.endpoint.client().get(url), scope)
                .await?;
            let results = reply.results.into_iter().filter_map(|found| {
                Some(WebResult {
                    url: web_url(found.url.as_deref()?)?,
                    title: found.title.unwrap_or_default(),
                    snippet: found.content.unwrap_or_default(),
                    published: found.published_date,
                })
            });
            // It has no number of results to ask for.
            Ok(results.take(wanted(search)).collect())
        }
        .boxed()
    }
}

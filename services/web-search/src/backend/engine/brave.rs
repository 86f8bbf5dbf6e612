//! Brave Search: <https://api-dashboard.search.brave.com/app/documentation/web-search/get-started>.

use emend_core::{Scope, Secret};
use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::header::{HeaderMap, HeaderValue};
use serde::Deserialize;

use super::http::Endpoint;
use super::{Engine, Search, WebResult, sent_query, wanted};
use crate::backend::page::web_url;
use crate::error::{LoadError, SearchError};

pub(in crate::backend) struct Brave {
    endpoint: Endpoint,
    headers: HeaderMap,
}

impl Brave {
    /// The engine at `base`, usually `https://api.search.brave.com/res/v1`.
    ///
    /// # Errors
    /// [`LoadError::Address`] if `base` is not an http or https URL, [`LoadError::Key`] if a header cannot carry the key.
    pub(in crate::backend) fn new(base: &str, key: Secret) -> Result<Self, LoadError> {
        let advice = "check its API key (EMEND_BRAVE_API_KEY or --brave-api-key-file)";
        let mut token = HeaderValue::from_str(key.reveal()).map_err(|_| LoadError::Key { provider: "brave" })?;
        // Left out of what is printed of a request.
        token.set_sensitive(true);
        Ok(Self {
            endpoint: Endpoint::new("brave", base, "/web/search", advice)?,
            headers: HeaderMap::from_iter([(reqwest::header::HeaderName::from_static("x-subscription-token"), token)]),
        })
    }
}

#[derive(Deserialize)]
struct Reply {
    /// Absent where nothing is found.
    web: Option<Web>,
}

#[derive(Deserialize)]
struct Web {
    results: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    url: String,
    title: Option<String>,
    description: Option<String>,
    #[serde(default)]
    extra_snippets: Vec<String>,
    page_age: Option<String>,
}

impl Engine for Brave {
    fn name(&self) -> &'static str {
        "brave"
    }

    fn find<'a>(&'a self, search: &'a Search, scope: &'a Scope) -> BoxFuture<'a, Result<Vec<WebResult>, SearchError>> {
        async move {
            let mut url = self.endpoint.url();
            url.query_pairs_mut()
                .append_pair("q", &sent_query(&search.query))
                .append_pair("count", &wanted(search).to_string())
                // Without <strong> around the words of the query.
                .append_pair("text_decorations", "false")
                .append_pair("result_filter", "web");
            let request = self.endpoint.client().get(url).headers(self.headers.clone());
            let reply: Reply = self.endpoint.json("GET", request, scope).await?;
            let results = reply.web.map_or_else(Vec::new, |web| web.results);
            let results = results.into_iter().filter_map(|found| {
                let snippets = found.description.into_iter().chain(found.extra_snippets);
                Some(WebResult {
                    url: web_url(&found.url)?,
                    title: found.title.unwrap_or_default(),
                    snippet: snippets.collect::<Vec<_>>().join("\n"),
                    published: found.page_age,
                })
            });
            Ok(results.collect())
        }
        .boxed()
    }
}

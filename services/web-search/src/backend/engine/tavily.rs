//! Tavily: <https://docs.tavily.com/documentation/api-reference/endpoint/search>.

use emend_core::{Scope, Secret};
use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use serde::{Deserialize, Serialize};

use super::http::Endpoint;
use super::{Engine, Search, WebResult, sent_query, wanted};
use crate::backend::page::web_url;
use crate::error::{LoadError, SearchError};

pub(in crate::backend) struct Tavily {
    endpoint: Endpoint,
    authorization: HeaderValue,
}

impl Tavily {
    /// The engine at `base`, usually `https://api.tavily.com`.
    ///
    /// # Errors
    /// [`LoadError::Address`] if `base` is not an http or https URL, [`LoadError::Key`] if a header cannot carry the key.
    pub(in crate::backend) fn new(base: &str, key: Secret) -> Result<Self, LoadError> {
        let advice = "check its API key (EMEND_TAVILY_API_KEY or --tavily-api-key-file)";
        let bearer = HeaderValue::try_from(format!("Bearer {}", key.reveal()));
        let mut authorization = bearer.map_err(|_| LoadError::Key { provider: "tavily" })?;
        // Left out of what is printed of a request.
        authorization.set_sensitive(true);
        Ok(Self {
            endpoint: Endpoint::new("tavily", base, "/search", advice)?,
            authorization,
        })
    }
}

#[derive(Serialize)]
struct Request<'a> {
    query: &'a str,
    max_results: usize,
    search_depth: &'static str,
    include_domains: Vec<String>,
    exclude_domains: Vec<String>,
}

#[derive(Deserialize)]
struct Reply {
    results: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    url: String,
    title: Option<String>,
    content: Option<String>,
    published_date: Option<String>,
}

impl Engine for Tavily {
    fn name(&self) -> &'static str {
        "tavily"
    }

    fn find<'a>(&'a self, search: &'a Search, scope: &'a Scope) -> BoxFuture<'a, Result<Vec<WebResult>, SearchError>> {
        async move {
            let names = |domains: &[emend_pages::Domain]| domains.iter().map(ToString::to_string).collect();
            let request = self
                .endpoint
                .client()
                .post(self.endpoint.url())
                .header(AUTHORIZATION, self.authorization.clone());
            let request = request.json(&Request {
                query: &sent_query(&search.query),
                max_results: wanted(search),
                search_depth: "basic",
                include_domains: names(&search.domains.allowed),
                exclude_domains: names(&search.domains.blocked),
            });
            let reply: Reply = self.endpoint.json("POST", request, scope).await?;
            let results = reply.results.into_iter().filter_map(|found| {
                Some(WebResult {
                    url: web_url(&found.url)?,
                    title: found.title.unwrap_or_default(),
                    snippet: found.content.unwrap_or_default(),
                    published: found.published_date,
                })
            });
            Ok(results.collect())
        }
        .boxed()
    }
}

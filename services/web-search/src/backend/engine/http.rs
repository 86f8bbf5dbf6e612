//! Requests to the interfaces of search engines.

use std::time::Duration;

use emend_core::{Scope, ServiceError as _, error_chain, without_secrets};
use reqwest::header::RETRY_AFTER;
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;
use tracing::Instrument;
use url::Url;

use crate::error::{LoadError, SearchError};
use emend_pages::http;

/// Longest wait for an engine's results.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Most bytes of results, after decompression.
const MAX_BODY: usize = 2 << 20;

/// One engine's interface.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    provider: &'static str,
    /// How to correct what a 401 or 403 complains about.
    advice: &'static str,
    url: Url,
    client: Client,
}

impl Endpoint {
    /// The interface of `provider` at `path` below `base`.
    ///
    /// # Errors
    /// [`LoadError::Address`] if `base` is not an http or https URL.
    pub(super) fn new(provider: &'static str, base: &str, path: &str, advice: &'static str) -> Result<Self, LoadError> {
        let wrong = |reason: String| LoadError::Address {
            provider,
            url: without_secrets(base).chars().take(200).collect(),
            reason,
        };
        let mut url = Url::parse(base.trim()).map_err(|error| wrong(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(wrong("it is not an http or https URL".to_owned()));
        }
        let prefix = url.path().trim_end_matches('/').to_owned();
        if !prefix.ends_with(path) {
            url.set_path(&format!("{prefix}{path}"));
        }
        let client = http::builder().build().map_err(|error| wrong(error_chain(&error)))?;
        Ok(Self {
            provider,
            advice,
            url,
            client,
        })
    }

    pub(super) fn url(&self) -> Url {
        self.url.clone()
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Sends `request` and reads the JSON that comes back.
    ///
    /// # Errors
    /// [`SearchError`] if there is none within [`TIMEOUT`] and the deadline of `scope`.
    pub(super) async fn json<T: DeserializeOwned>(
        &self,
        method: &'static str,
        request: RequestBuilder,
        scope: &Scope,
    ) -> Result<T, SearchError> {
        let span = http::request_span(method, &self.url);
        let exchange = async {
            let response = request.send().await.map_err(|error| self.unreachable(error))?;
            http::record_status(response.status());
            self.refused(&response)?;
            let body = self.body(response).await?;
            // An error of the parser quotes the reply, which may repeat the query.
            serde_json::from_slice(&body).map_err(|error| {
                let (kind, line, column) = (error.classify(), error.line(), error.column());
                self.bad_reply(format!("not its JSON: {kind:?} error at line {line}, column {column}"))
            })
        };
        let timed = tokio::time::timeout(TIMEOUT.min(scope.deadline.remaining()), exchange);
        let outcome = timed.instrument(span.clone()).await.unwrap_or_else(|_| {
            Err(SearchError::Unreachable {
                provider: self.provider,
                reason: "it did not answer in time".to_owned(),
            })
        });
        if let Err(error) = &outcome {
            span.in_scope(|| http::record_error(error.code().name()));
        }
        outcome
    }

    fn refused(&self, response: &Response) -> Result<(), SearchError> {
        let (provider, status) = (self.provider, response.status());
        match status {
            status if status.is_success() => Ok(()),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::PAYMENT_REQUIRED => {
                Err(SearchError::Unauthorized {
                    provider,
                    status: status.as_u16(),
                    advice: self.advice,
                })
            }
            // Tavily: the plan's limit (432), the pay-as-you-go limit (433).
            status if matches!(status.as_u16(), 429 | 432 | 433) => {
                let text = response
                    .headers()
                    .get(RETRY_AFTER)
                    .and_then(|value| value.to_str().ok());
                Err(SearchError::RateLimited {
                    provider,
                    retry_after: text.and_then(emend_core::retry_after),
                })
            }
            status => Err(SearchError::Unreachable {
                provider,
                reason: format!("it answered HTTP {}", status.as_u16()),
            }),
        }
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, SearchError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(error))? {
            if body.len() + chunk.len() > MAX_BODY {
                return Err(self.bad_reply(format!("longer than {MAX_BODY} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn unreachable(&self, error: reqwest::Error) -> SearchError {
        SearchError::Unreachable {
            provider: self.provider,
            // The URL contains the query.
            reason: error_chain(&error.without_url()),
        }
    }

    fn bad_reply(&self, reason: String) -> SearchError {
        SearchError::BadReply {
            provider: self.provider,
            reason,
        }
    }
}

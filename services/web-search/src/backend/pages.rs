//! Reads pages of the web that are fetched as [`emend_pages`] fetches them.

use std::collections::HashMap;
use std::time::SystemTime;

use emend_pages::{ClientError, Domain, DomainFilter, Fetched, PageError, PageFetcher, PageSettings};
use encoding_rs::Encoding;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::engine::WebResult;
use super::html;
use super::page::{Found, Page};
use crate::error::LoadError;

/// Most bytes of a page, after decompression.
pub(crate) const MAX_PAGE_BYTES: usize = 2 << 20;
/// Media types of pages that are read.
const TYPES: [&str; 4] = ["text/html", "application/xhtml+xml", "text/plain", "text/markdown"];

/// Fetches and reads pages. One for all providers.
pub(super) struct PageReader(PageFetcher);

impl PageReader {
    /// A reader that looks names up as the system does.
    ///
    /// # Errors
    /// [`LoadError::Client`] if TLS cannot be set up.
    pub(super) fn new(settings: PageSettings) -> Result<Self, LoadError> {
        let fetcher = PageFetcher::new(settings);
        fetcher
            .map(Self)
            .map_err(|ClientError(reason)| LoadError::Client(reason))
    }

    /// Whether a page at `url` may be fetched for a request with these `domains`, as far as the URL tells.
    pub(super) fn admits(&self, url: &Url, domains: &DomainFilter) -> bool {
        self.0.admits(url, domains)
    }

    /// Fetches the page of `result` and reads it.
    ///
    /// # Errors
    /// [`PageError`]; the page may still be shown as the engine described it.
    pub(super) async fn read(&self, result: &WebResult, domains: &DomainFilter) -> Result<Page, PageError> {
        let Fetched {
            url,
            content_type,
            bytes,
        } = self.0.fetch(result.url.clone(), domains, &TYPES).await?;
        let saved = SystemTime::now();
        // Reading stops when nobody waits for the page any more.
        let waiting = CancellationToken::new();
        let _guard = waiting.clone().drop_guard();
        let read = tokio::task::spawn_blocking(move || found(&bytes, &content_type, &|| waiting.is_cancelled()));
        let found = read.await.map_err(|error| PageError::Unreadable(error.to_string()))??;
        let Found {
            title, text, published, ..
        } = found;
        if !text.contains(char::is_alphanumeric) {
            return Err(PageError::Empty);
        }
        // What the page says of itself is nearer to it than what an engine says.
        let published = published.or_else(|| result.published.clone());
        let published = published.map(|date| ("published".to_owned(), date));
        Ok(Page {
            domain: Domain::of(&url),
            url,
            title: if title.is_empty() { result.title.clone() } else { title },
            text,
            saved,
            metadata: published.into_iter().collect::<HashMap<_, _>>(),
        })
    }
}

/// What a page says. Blocks: a large page takes a while.
fn found(bytes: &[u8], content_type: &str, stop: &dyn Fn() -> bool) -> Result<Found, PageError> {
    let charset = content_type
        .split(';')
        .find_map(|part| part.trim().strip_prefix("charset="));
    let named = charset.and_then(|label| Encoding::for_label(label.trim_matches('"').as_bytes()));
    let decoded = match named {
        Some(encoding) => encoding.decode(bytes).0,
        None => html::decode(bytes),
    };
    if content_type.starts_with("text/plain") || content_type.starts_with("text/markdown") {
        return Ok(Found {
            text: decoded.trim().to_owned(),
            ..Found::default()
        });
    }
    html::read(&decoded, stop).map_err(|error| PageError::Unreadable(error.to_string()))
}

#[cfg(test)]
mod tests;

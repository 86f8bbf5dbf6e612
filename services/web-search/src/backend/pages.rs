//! Fetches pages of the web and reads them: within bounds of time and size, from public addresses, as `robots.txt`
//! allows.

mod address;
mod robots;

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use emend_core::error_chain;
use encoding_rs::Encoding;
use ipnet::IpNet;
use reqwest::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Client, Response};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;
use url::{Host, Url};

use super::engine::WebResult;
use super::html;
use super::page::Page;
use crate::domains::{Domain, DomainFilter};
use crate::error::LoadError;
use crate::http;
use address::{AddressPolicy, Lookup, NotPublic, PermittedResolver};
use robots::Robots;

/// Longest time for one page: redirects, `robots.txt` and body together.
const PAGE_TIMEOUT: Duration = Duration::from_secs(10);
/// Most bytes of a page, after decompression.
const MAX_PAGE_BYTES: usize = 2 << 20;
/// Most redirects from a result to its page.
const MAX_REDIRECTS: usize = 5;
/// Most characters of a URL.
const MAX_URL_CHARS: usize = 2048;

/// How pages are fetched.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PageSettings {
    /// Which pages a deployment wants, beside what a request says.
    pub(crate) domains: DomainFilter,
    /// Ports that pages may be on.
    pub(crate) ports: Vec<u16>,
    /// Networks that pages may be fetched from although they are not public.
    pub(crate) allowed_networks: Vec<IpNet>,
    /// Whether to ask for pages that `robots.txt` forbids.
    pub(crate) ignores_robots: bool,
}

/// Why a page was not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum PageError {
    #[error("the URL is not fetched: {0}")]
    Refused(&'static str),
    #[error("its address is not public")]
    NotPublic,
    #[error("robots.txt forbids it")]
    Robots,
    #[error("it answered HTTP {0}")]
    Status(u16),
    #[error("it redirects more than {MAX_REDIRECTS} times")]
    Redirects,
    #[error("it is not text: {0}")]
    Type(String),
    #[error("it is larger than {MAX_PAGE_BYTES} bytes")]
    TooLarge,
    #[error("it did not answer within {} s", PAGE_TIMEOUT.as_secs())]
    Timeout,
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    #[error("it holds no text")]
    Empty,
}

impl PageError {
    /// A name for spans and logs.
    fn kind(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::NotPublic => "not_public",
            Self::Robots => "robots",
            Self::Status(_) => "status",
            Self::Redirects => "redirects",
            Self::Type(_) => "content_type",
            Self::TooLarge => "too_large",
            Self::Timeout => "timeout",
            Self::Unreachable(_) => "unreachable",
            Self::Unreadable(_) => "unreadable",
            Self::Empty => "empty",
        }
    }
}

/// Fetches and reads pages. One for all providers.
pub(super) struct PageReader {
    client: Client,
    policy: Arc<AddressPolicy>,
    settings: PageSettings,
    robots: Robots,
}

impl PageReader {
    /// A reader that looks names up as the system does.
    ///
    /// # Errors
    /// [`LoadError::Client`] if TLS cannot be set up.
    pub(super) fn new(settings: PageSettings) -> Result<Self, LoadError> {
        Self::resolving_with(settings, address::system_lookup())
    }

    fn resolving_with(settings: PageSettings, lookup: Lookup) -> Result<Self, LoadError> {
        let policy = Arc::new(AddressPolicy {
            allowed: settings.allowed_networks.clone(),
        });
        let resolver = PermittedResolver {
            policy: Arc::clone(&policy),
            lookup,
        };
        let client = http::builder()
            // A proxy would look the name up itself and connect to what it likes.
            .no_proxy()
            .dns_resolver(Arc::new(resolver))
            .referer(false)
            .gzip(true)
            .build()
            .map_err(|error| LoadError::Client(error_chain(&error)))?;
        Ok(Self {
            client,
            policy,
            settings,
            robots: Robots::default(),
        })
    }

    /// Whether a page at `url` may be fetched for a request with these `domains`, as far as the URL tells.
    pub(super) fn admits(&self, url: &Url, domains: &DomainFilter) -> bool {
        self.check(url, domains).is_ok()
    }

    fn check(&self, url: &Url, domains: &DomainFilter) -> Result<(), PageError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(PageError::Refused("it is neither http nor https"));
        }
        if url.as_str().len() > MAX_URL_CHARS {
            return Err(PageError::Refused("it is too long"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(PageError::Refused("it contains a user name"));
        }
        let port = url.port_or_known_default();
        if !port.is_some_and(|port| self.settings.ports.contains(&port)) {
            return Err(PageError::Refused("its port is not allowed"));
        }
        // Names are checked when they are resolved.
        let literal = match url.host() {
            Some(Host::Ipv4(address)) => Some(address.into()),
            Some(Host::Ipv6(address)) => Some(address.into()),
            Some(Host::Domain(_)) => None,
            None => return Err(PageError::Refused("it has no host")),
        };
        if literal.is_some_and(|address| !self.policy.permits(address)) {
            return Err(PageError::NotPublic);
        }
        let domain = Domain::of(url);
        if !domains.admits(domain.as_ref()) || !self.settings.domains.admits(domain.as_ref()) {
            return Err(PageError::Refused("its domain is not admitted"));
        }
        Ok(())
    }

    /// Fetches the page of `result` and reads it.
    ///
    /// # Errors
    /// [`PageError`]; the page may still be shown as the engine described it.
    pub(super) async fn read(&self, result: &WebResult, domains: &DomainFilter) -> Result<Page, PageError> {
        let fetched = tokio::time::timeout(PAGE_TIMEOUT, self.fetch(result.url.clone(), domains)).await;
        let (url, content_type, bytes) = fetched.map_err(|_| PageError::Timeout)??;
        let saved = SystemTime::now();
        // Reading stops when nobody waits for the page any more.
        let waiting = CancellationToken::new();
        let _guard = waiting.clone().drop_guard();
        let read = tokio::task::spawn_blocking(move || text(&bytes, &content_type, &|| waiting.is_cancelled()));
        let (title, text) = read.await.map_err(|error| PageError::Unreadable(error.to_string()))??;
        if !text.contains(char::is_alphanumeric) {
            return Err(PageError::Empty);
        }
        let published = result.published.clone().map(|date| ("published".to_owned(), date));
        Ok(Page {
            domain: Domain::of(&url),
            url,
            title: if title.is_empty() { result.title.clone() } else { title },
            text,
            saved,
            metadata: published.into_iter().collect::<HashMap<_, _>>(),
        })
    }

    /// The URL of a page after redirects, its content type and its bytes.
    async fn fetch(&self, mut url: Url, domains: &DomainFilter) -> Result<(Url, String, Vec<u8>), PageError> {
        for _ in 0..=MAX_REDIRECTS {
            self.check(&url, domains)?;
            let agrees = self.settings.ignores_robots || self.robots.allow(&url, self).await;
            if !agrees {
                return Err(PageError::Robots);
            }
            let response = self.get(url.clone()).await?;
            let status = response.status();
            if status.is_redirection()
                && let Some(location) = response.headers().get(LOCATION).and_then(|value| value.to_str().ok())
            {
                url = url
                    .join(location)
                    .map_err(|_| PageError::Refused("it redirects to something that is not a URL"))?;
                continue;
            }
            if !status.is_success() {
                return Err(PageError::Status(status.as_u16()));
            }
            let content_type = content_type(&response)?;
            let bytes = self.body(response, MAX_PAGE_BYTES).await?;
            return Ok((url, content_type, bytes));
        }
        Err(PageError::Redirects)
    }

    /// Sends one request, whose URL has been checked, in a span of its own.
    async fn get(&self, url: Url) -> Result<Response, PageError> {
        let span = http::request_span("GET", &url);
        let sent = self.client.get(url).send().instrument(span.clone()).await;
        span.in_scope(|| match sent {
            Ok(response) => {
                http::record_status(response.status());
                Ok(response)
            }
            Err(error) => {
                let error = unreachable(error);
                http::record_error(error.kind());
                Err(error)
            }
        })
    }

    /// The body of `response`, which must have at most `most` bytes after decompression.
    async fn body(&self, mut response: Response, most: usize) -> Result<Vec<u8>, PageError> {
        if response.content_length().is_some_and(|length| length > most as u64) {
            return Err(PageError::TooLarge);
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > most {
                return Err(PageError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

fn unreachable(error: reqwest::Error) -> PageError {
    let mut source = error.source();
    while let Some(cause) = source {
        if cause.is::<NotPublic>() {
            return PageError::NotPublic;
        }
        source = cause.source();
    }
    PageError::Unreachable(error_chain(&error.without_url()))
}

/// The content type of a page that can be read.
fn content_type(response: &Response) -> Result<String, PageError> {
    let value = response.headers().get(CONTENT_TYPE).map(HeaderValue::to_str);
    // Without one it is looked at as HTML, as browsers do.
    let text = value.and_then(Result::ok).unwrap_or("text/html").to_ascii_lowercase();
    let kind = text.split(';').next().unwrap_or_default().trim();
    match kind {
        "text/html" | "application/xhtml+xml" | "text/plain" | "text/markdown" => Ok(text),
        kind => Err(PageError::Type(kind.chars().take(80).collect())),
    }
}

/// Title and text of a page. Blocks: a large page takes a while.
fn text(bytes: &[u8], content_type: &str, stop: &dyn Fn() -> bool) -> Result<(String, String), PageError> {
    let charset = content_type
        .split(';')
        .find_map(|part| part.trim().strip_prefix("charset="));
    let named = charset.and_then(|label| Encoding::for_label(label.trim_matches('"').as_bytes()));
    let decoded = match named {
        Some(encoding) => encoding.decode(bytes).0,
        None => html::decode(bytes),
    };
    if content_type.starts_with("text/plain") || content_type.starts_with("text/markdown") {
        return Ok((String::new(), decoded.trim().to_owned()));
    }
    let found = html::read(&decoded, stop).map_err(|error| PageError::Unreadable(error.to_string()))?;
    Ok((found.title, found.text))
}

#[cfg(test)]
mod tests;

//! The client that fetches pages.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use emend_core::error_chain;
use encoding_rs::{Encoding, UTF_8};
use ipnet::IpNet;
use reqwest::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Client, Response};
use tracing::Instrument;
use url::{Host, Url};

use crate::address::{AddressPolicy, Lookup, NotPublic, PermittedResolver, system_lookup};
use crate::domains::{Domain, DomainFilter};
use crate::http;
use crate::robots::Robots;

/// Longest time for one page: redirects, `robots.txt` and body together.
const PAGE_TIMEOUT: Duration = Duration::from_secs(10);
/// Most redirects from a result to its page.
pub(crate) const MAX_REDIRECTS: usize = 5;
/// Most characters of a URL.
const MAX_URL_CHARS: usize = 2048;

/// How pages are fetched.
#[derive(Clone, Debug, PartialEq)]
pub struct PageSettings {
    /// Which pages a deployment wants, beside what a request says.
    pub domains: DomainFilter,
    /// Ports that pages may be on.
    pub ports: Vec<u16>,
    /// Networks that pages may be fetched from although they are not public.
    pub allowed_networks: Vec<IpNet>,
    /// Most bytes of a page, after decompression.
    pub max_bytes: usize,
    /// Whether to ask for pages that `robots.txt` forbids.
    pub ignores_robots: bool,
}

/// Why a page was not read.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The URL itself is refused.
    #[error("the URL is not fetched: {0}")]
    Refused(&'static str),
    /// Its address is not public, and not allowed.
    #[error("its address is not public")]
    NotPublic,
    /// `robots.txt` forbids it.
    #[error("robots.txt forbids it")]
    Robots,
    /// The server answers with this HTTP status.
    #[error("it answered HTTP {0}")]
    Status(u16),
    /// It redirects too often.
    #[error("it redirects more than {MAX_REDIRECTS} times")]
    Redirects,
    /// It is of another media type.
    #[error("it is not text: {0}")]
    Type(String),
    /// It is too large.
    #[error("it is larger than {0} bytes")]
    TooLarge(usize),
    /// It takes too long.
    #[error("it did not answer within {} s", PAGE_TIMEOUT.as_secs())]
    Timeout,
    /// The server cannot be reached.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// It is not what its type says.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// It holds no text.
    #[error("it holds no text")]
    Empty,
}

impl PageError {
    /// A name for spans and logs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::NotPublic => "not_public",
            Self::Robots => "robots",
            Self::Status(_) => "status",
            Self::Redirects => "redirects",
            Self::Type(_) => "content_type",
            Self::TooLarge(_) => "too_large",
            Self::Timeout => "timeout",
            Self::Unreachable(_) => "unreachable",
            Self::Unreadable(_) => "unreadable",
            Self::Empty => "empty",
        }
    }
}

/// The HTTP client cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot set up the HTTP client: {0}")]
pub struct ClientError(pub String);

/// What a server sent for a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The URL of the page, after redirects.
    pub url: Url,
    /// Its content type in lower case, with its parameters; `text/html` where the server named none.
    pub content_type: String,
    /// Its bytes, after decompression.
    pub bytes: Vec<u8>,
}

impl Fetched {
    /// The bytes, in UTF-8 where the server named the encoding of a text.
    pub fn into_utf8(self) -> Vec<u8> {
        let mut parameters = self.content_type.split(';').skip(1);
        let charset = parameters.find_map(|part| part.trim().strip_prefix("charset="));
        let encoding = charset.and_then(|label| Encoding::for_label(label.trim_matches('"').as_bytes()));
        match encoding {
            Some(encoding) if encoding != UTF_8 && self.content_type.starts_with("text/") => {
                encoding.decode(&self.bytes).0.into_owned().into_bytes()
            }
            _ => self.bytes,
        }
    }
}

/// Fetches pages. One for all that are fetched, so that a site's `robots.txt` is asked for once.
pub struct PageFetcher {
    client: Client,
    policy: Arc<AddressPolicy>,
    settings: PageSettings,
    robots: Robots,
}

impl PageFetcher {
    /// A fetcher that looks names up as the system does.
    ///
    /// # Errors
    /// [`ClientError`] if TLS cannot be set up.
    pub fn new(settings: PageSettings) -> Result<Self, ClientError> {
        Self::resolving_with(settings, system_lookup())
    }

    /// As [`new`](Self::new), looking names up with `lookup`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn resolving_with(settings: PageSettings, lookup: Lookup) -> Result<Self, ClientError> {
        let policy = Arc::new(AddressPolicy {
            allowed: settings.allowed_networks.clone(),
        });
        let resolver = PermittedResolver {
            policy: Arc::clone(&policy),
            lookup,
        };
        let client = http::builder()
            // A proxy would look the name up itself and could connect to an address that is not permitted.
            .no_proxy()
            .dns_resolver(Arc::new(resolver))
            .referer(false)
            .gzip(true)
            .build()
            .map_err(|error| ClientError(error_chain(&error)))?;
        Ok(Self {
            client,
            policy,
            settings,
            robots: Robots::default(),
        })
    }

    /// Whether a page at `url` may be fetched for a request with these `domains`, as far as the URL tells.
    pub fn admits(&self, url: &Url, domains: &DomainFilter) -> bool {
        self.check(url, domains).is_ok()
    }

    pub(crate) fn check(&self, url: &Url, domains: &DomainFilter) -> Result<(), PageError> {
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

    /// Fetches a page of one of the media types in `types`, all redirects and `robots.txt` within 10 s.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn fetch(&self, url: Url, domains: &DomainFilter, types: &[&str]) -> Result<Fetched, PageError> {
        let fetching = self.fetch_in_time(url, domains, types);
        tokio::time::timeout(PAGE_TIMEOUT, fetching)
            .await
            .map_err(|_| PageError::Timeout)?
    }

    /// The URL of a page after redirects, its content type and its bytes.
    async fn fetch_in_time(&self, mut url: Url, domains: &DomainFilter, types: &[&str]) -> Result<Fetched, PageError> {
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
            let content_type = content_type(&response, types)?;
            let bytes = self.body(response, self.settings.max_bytes).await?;
            return Ok(Fetched {
                url,
                content_type,
                bytes,
            });
        }
        Err(PageError::Redirects)
    }

    /// Sends one request, whose URL has been checked, in a span of its own.
    pub(crate) async fn get(&self, url: Url) -> Result<Response, PageError> {
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
            return Err(PageError::TooLarge(most));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > most {
                return Err(PageError::TooLarge(most));
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

/// The content type of a page, one of `types`.
fn content_type(response: &Response, types: &[&str]) -> Result<String, PageError> {
    let value = response.headers().get(CONTENT_TYPE).map(HeaderValue::to_str);
    // Without one it is read as HTML, as browsers do.
    let text = value.and_then(Result::ok).unwrap_or("text/html").to_ascii_lowercase();
    let kind = text.split(';').next().unwrap_or_default().trim();
    if types.contains(&kind) {
        return Ok(text);
    }
    Err(PageError::Type(kind.chars().take(80).collect()))
}

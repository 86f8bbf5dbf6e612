//! The client that fetches pages.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use emend_core::{Deadline, error_chain};
use encoding_rs::{Encoding, UTF_8};
use ipnet::IpNet;
use reqwest::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Client, Response};
use tracing::{Instrument, Span};
use url::{Host, Url};

use crate::address::{AddressPolicy, Lookup, NotPublic, PermittedResolver, system_lookup};
use crate::domains::{Domain, DomainFilter};
use crate::http;
use crate::robots::Robots;

/// Longest time for one page, unless [`PageFetcher::within`] says otherwise.
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
    #[error("it did not answer within {} s", .0.as_secs_f64())]
    Timeout(Duration),
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
            Self::Timeout(_) => "timeout",
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
    /// Longest time for one page: redirects, `robots.txt` and body together.
    timeout: Duration,
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
            timeout: PAGE_TIMEOUT,
        })
    }

    /// This fetcher with another time limit for a page than 10 s.
    #[must_use]
    pub fn within(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
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
    pub async fn fetch(&self, mut url: Url, domains: &DomainFilter, types: &[&str]) -> Result<Fetched, PageError> {
        let deadline = Deadline::after(self.timeout);
        for _ in 0..=MAX_REDIRECTS {
            self.check(&url, domains)?;
            let agrees = self.settings.ignores_robots || self.robots.allow(&url, self, deadline).await;
            if !agrees {
                // A site that takes too long to say whether it agrees has not said no.
                let is_late = deadline.is_expired();
                return Err(if is_late {
                    PageError::Timeout(self.timeout)
                } else {
                    PageError::Robots
                });
            }
            let exchange = self.get(url.clone(), deadline).await?;
            let status = exchange.response.status();
            if status.is_redirection()
                && let Some(location) = exchange.location()
            {
                url = url
                    .join(location)
                    .map_err(|_| PageError::Refused("it redirects to something that is not a URL"))?;
                continue;
            }
            if !status.is_success() {
                return Err(PageError::Status(status.as_u16()));
            }
            let content_type = content_type(&exchange.response, types)?;
            let bytes = exchange.body(self.settings.max_bytes).await?;
            return Ok(Fetched {
                url,
                content_type,
                bytes,
            });
        }
        Err(PageError::Redirects)
    }

    /// Sends one request, whose URL has been checked, in a span of its own.
    pub(crate) async fn get(&self, url: Url, deadline: Deadline) -> Result<Exchange, PageError> {
        let span = http::request_span("GET", &url);
        let (timeout, sending) = (self.timeout, self.client.get(url).send());
        let sent = in_time(deadline, timeout, sending.instrument(span.clone())).await;
        span.in_scope(|| match sent {
            Ok(response) => {
                http::record_status(response.status());
                Ok(Exchange {
                    response,
                    deadline,
                    timeout,
                    span: span.clone(),
                })
            }
            Err(error) => {
                http::record_error(error.kind());
                Err(error)
            }
        })
    }
}

/// A response whose body is still to be read, within the span of its request.
pub(crate) struct Exchange {
    pub(crate) response: Response,
    deadline: Deadline,
    timeout: Duration,
    span: Span,
}

impl Exchange {
    /// Where it redirects to, as it says.
    pub(crate) fn location(&self) -> Option<&str> {
        self.response
            .headers()
            .get(LOCATION)
            .and_then(|value| value.to_str().ok())
    }

    /// The body, which must have at most `most` bytes after decompression.
    async fn body(mut self, most: usize) -> Result<Vec<u8>, PageError> {
        if self
            .response
            .content_length()
            .is_some_and(|length| length > most as u64)
        {
            return Err(self.failed(PageError::TooLarge(most)));
        }
        match self.beginning(most + 1).await? {
            body if body.len() > most => Err(self.failed(PageError::TooLarge(most))),
            body => Ok(body),
        }
    }

    /// The first `most` bytes of the body, after decompression.
    pub(crate) async fn beginning(&mut self, most: usize) -> Result<Vec<u8>, PageError> {
        let mut body = Vec::new();
        while body.len() < most {
            let reading = self.response.chunk().instrument(self.span.clone());
            match in_time(self.deadline, self.timeout, reading).await {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(error) => return Err(self.failed(error)),
            }
        }
        body.truncate(most);
        Ok(body)
    }

    /// Records in the span why the body is not read.
    fn failed(&self, error: PageError) -> PageError {
        self.span.in_scope(|| http::record_error(error.kind()));
        error
    }
}

/// Waits for a part of an exchange until `deadline`, which was so far ahead when the page was asked for.
async fn in_time<T>(
    deadline: Deadline,
    timeout: Duration,
    part: impl Future<Output = reqwest::Result<T>>,
) -> Result<T, PageError> {
    match deadline.run(part).await {
        Ok(done) => done.map_err(unreachable),
        Err(_) => Err(PageError::Timeout(timeout)),
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

#[cfg(test)]
mod tests;

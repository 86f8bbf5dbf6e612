//! Pages of the web as documents: single ones, and those that a sitemap names.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use emend_core::limits::MAX_DOCUMENT_BYTES;
use emend_pages::{
    ClientError, DomainFilter, PageError, PageFetcher, PageSettings,
    sitemap::{self, SitemapError},
};
use emend_proto::v1::{Document, DocumentFormat};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{FileKind, Found, Skipped};

/// Media types of pages, and how they are read.
const TYPES: [(&str, DocumentFormat); 12] = [
    ("text/html", DocumentFormat::Html),
    ("application/xhtml+xml", DocumentFormat::Html),
    ("text/plain", DocumentFormat::PlainText),
    ("text/markdown", DocumentFormat::Markdown),
    ("text/csv", DocumentFormat::Csv),
    ("application/json", DocumentFormat::Json),
    ("application/pdf", DocumentFormat::Pdf),
    ("application/epub+zip", DocumentFormat::Epub),
    (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        DocumentFormat::Docx,
    ),
    (
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        DocumentFormat::Pptx,
    ),
    (
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        DocumentFormat::Xlsx,
    ),
    ("application/vnd.oasis.opendocument.text", DocumentFormat::Odt),
];

/// Statuses of a page that is not there any more: Not Found, and Gone.
const GONE: [u16; 2] = [404, 410];

/// An address that cannot be ingested.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// It is no address.
    #[error("`{}` is no address: {reason}; write https://HOST/PATH", emend_core::cut(address))]
    Address {
        /// The text.
        address: String,
        /// What is wrong.
        reason: String,
    },
    /// The client cannot be set up.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A sitemap cannot be read.
    #[error(transparent)]
    Sitemap(#[from] SitemapError),
}

/// Whether an argument is the address of a page and no path.
pub fn is_address(argument: &Path) -> bool {
    let text = argument.to_str().unwrap_or_default();
    ["http://", "https://"].iter().any(|scheme| {
        text.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

/// Addresses to ingest, and how they are fetched.
#[derive(Clone, Debug)]
pub struct Addresses {
    pages: Vec<Url>,
    sitemaps: Vec<Url>,
    settings: PageSettings,
}

impl Addresses {
    /// Reads addresses of pages and of sitemaps.
    ///
    /// # Errors
    /// [`AddressError::Address`] for the first that is none.
    pub fn new(pages: &[PathBuf], sitemaps: &[String], settings: PageSettings) -> Result<Self, AddressError> {
        let parse = |address: &str| {
            let wrong = |reason: String| AddressError::Address {
                address: address.to_owned(),
                reason,
            };
            let mut url = Url::parse(address).map_err(|error| wrong(error.to_string()))?;
            if !matches!(url.scheme(), "http" | "https") {
                return Err(wrong("it is neither http nor https".to_owned()));
            }
            url.set_fragment(None);
            Ok(url)
        };
        let pages = pages.iter().map(|page| parse(&page.to_string_lossy()));
        Ok(Self {
            pages: pages.collect::<Result<_, _>>()?,
            sitemaps: sitemaps
                .iter()
                .map(|sitemap| parse(sitemap))
                .collect::<Result<_, _>>()?,
            settings,
        })
    }

    /// Adds the pages to `found`, those of sitemaps too. A page that is given by name belongs to itself, one that a sitemap
    /// names to the sitemap.
    ///
    /// # Errors
    /// [`AddressError`] where a sitemap cannot be read.
    pub async fn find(&self, found: &mut Found) -> Result<(), AddressError> {
        let fetcher = |max_bytes| {
            PageFetcher::new(PageSettings {
                max_bytes,
                ..self.settings.clone()
            })
        };
        let pages = Arc::new(fetcher(MAX_DOCUMENT_BYTES)?);
        let page = |url: Url, owner: Option<&Url>| PageSource {
            fetcher: Arc::clone(&pages),
            owner: owner.map(Url::to_string).unwrap_or_default(),
            url,
        };
        found.pages.extend(self.pages.iter().map(|url| page(url.clone(), None)));
        found
            .roots
            .extend(self.pages.iter().map(|url| PathBuf::from(url.as_str())));
        let sitemaps = fetcher(sitemap::MAX_SITEMAP_BYTES)?;
        for url in &self.sitemaps {
            let listed = sitemap::fetch(&sitemaps, url, &DomainFilter::default()).await?;
            found
                .pages
                .extend(listed.pages.into_iter().map(|named| page(named, Some(url))));
            found
                .skipped
                .extend(listed.left_out.into_iter().map(|(address, reason)| Skipped {
                    source: address,
                    reason: reason.to_owned(),
                    kind: FileKind::Address,
                }));
            found.roots.push(PathBuf::from(url.as_str()));
        }
        Ok(())
    }
}

/// A page to fetch.
#[derive(Clone)]
pub struct PageSource {
    url: Url,
    /// The sitemap that names it; empty where it was given by itself.
    owner: String,
    fetcher: Arc<PageFetcher>,
}

impl std::fmt::Debug for PageSource {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("PageSource").field(&self.url.as_str()).finish()
    }
}

/// Why a page is no document.
pub(crate) enum NoPage {
    /// It is not there any more.
    Gone(Skipped),
    /// It could not be had now.
    Failed(Skipped),
    /// Nobody waits for it any more.
    Stopped,
}

impl PageSource {
    /// Its address, which is the document's identifier.
    pub(crate) fn id(&self) -> &str {
        self.url.as_str()
    }

    /// Fetches it.
    pub(crate) async fn read(&self, stop: &CancellationToken) -> Result<Document, NoPage> {
        let types = TYPES.map(|(kind, _)| kind);
        let domains = DomainFilter::default();
        let fetching = self.fetcher.fetch(self.url.clone(), &domains, &types);
        let Some(fetched) = stop.run_until_cancelled(fetching).await else {
            return Err(NoPage::Stopped);
        };
        let fetched = fetched.map_err(|error| {
            let skipped = Skipped {
                source: self.id().to_owned(),
                reason: self.advised(&error),
                kind: FileKind::Unreadable,
            };
            match error {
                PageError::Status(status) if GONE.contains(&status) => NoPage::Gone(skipped),
                _ => NoPage::Failed(skipped),
            }
        })?;
        let kind = fetched
            .content_type
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned();
        let format = TYPES.iter().find(|(name, _)| *name == kind).map(|(_, format)| *format);
        Ok(Document {
            id: self.id().to_owned(),
            title: String::new(),
            format: format.unwrap_or_default().into(),
            content: fetched.into_utf8(),
            source: self.id().to_owned(),
            metadata: std::collections::HashMap::new(),
            owner: self.owner.clone(),
        })
    }

    /// Why it cannot be fetched, and what to do.
    fn advised(&self, error: &PageError) -> String {
        let advice = match error {
            PageError::NotPublic => "; --web-allow-networks NETWORK allows it, for instance 127.0.0.1/32",
            PageError::Robots => "; --web-ignore-robots fetches it nevertheless",
            PageError::Refused(reason) if reason.contains("port") => "; --web-ports names those that are",
            _ => "",
        };
        format!("{error}{advice}")
    }
}

#[cfg(test)]
mod tests;

//! Sitemaps (sitemaps.org, protocol 0.9): the pages that a site names, one file or an index of files.

use std::collections::HashSet;
use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use quick_xml::{Reader, events::Event};
use url::Url;

use crate::domains::{Domain, DomainFilter};
use crate::fetch::{Fetched, PageError, PageFetcher};

/// Largest sitemap, in bytes, unpacked; what the protocol allows.
pub const MAX_SITEMAP_BYTES: usize = 50 << 20;
/// Most pages of a sitemap, over all files of an index.
pub const MAX_SITEMAP_PAGES: usize = 50_000;
/// Most files of an index.
pub const MAX_SITEMAP_FILES: usize = 100;
/// Most elements around an element.
const MAX_DEPTH: usize = 16;
/// Longest address, in bytes.
const MAX_URL_BYTES: usize = 2048;
/// Media types of sitemaps.
const TYPES: [&str; 7] = [
    "application/xml",
    "text/xml",
    "text/plain",
    "application/gzip",
    "application/x-gzip",
    "application/octet-stream",
    "application/rss+xml",
];

/// Why a sitemap is not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SitemapError {
    /// It cannot be fetched.
    #[error("sitemap {url}: {source}")]
    Page {
        /// Its address.
        url: String,
        /// Why.
        source: PageError,
    },
    /// It is no sitemap.
    #[error("sitemap {url} cannot be read: {reason}")]
    Broken {
        /// Its address.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// It is above a limit.
    #[error("sitemap {url} has more than {limit} {what}: split it and give its parts")]
    TooLarge {
        /// Its address.
        url: String,
        /// What is counted, in the plural.
        what: &'static str,
        /// Most of them.
        limit: usize,
    },
}

/// What a site names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// The pages, in the order of the sitemap, each once.
    pub pages: Vec<Url>,
    /// Entries that are left out, with the reason: addresses of other sites, and text that is no address.
    pub left_out: Vec<(String, &'static str)>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum File {
    /// Addresses of pages.
    Pages(Vec<String>),
    /// Addresses of other files.
    Index(Vec<String>),
}

/// Fetches a sitemap, and where it is an index the files that it names. An index within an index is not followed.
///
/// # Errors
/// [`SitemapError`]: a file cannot be fetched or read, or there is too much of something.
pub async fn fetch(fetcher: &PageFetcher, url: &Url, domains: &DomainFilter) -> Result<Listed, SitemapError> {
    let mut listed = Listed::default();
    let mut seen = HashSet::new();
    match fetch_file(fetcher, url, domains).await? {
        File::Pages(pages) => add(&mut listed, &mut seen, pages, url)?,
        File::Index(files) => {
            if files.len() > MAX_SITEMAP_FILES {
                return Err(too_large(url, "files", MAX_SITEMAP_FILES));
            }
            for file in files {
                let file = match own(&file, url) {
                    Ok(file) => file,
                    Err(reason) => {
                        listed.left_out.push((shown(&file), reason));
                        continue;
                    }
                };
                match fetch_file(fetcher, &file, domains).await? {
                    File::Pages(pages) => add(&mut listed, &mut seen, pages, url)?,
                    File::Index(_) => {
                        let reason = "it is an index within an index, which is not followed";
                        listed.left_out.push((file.to_string(), reason));
                    }
                }
            }
        }
    }
    Ok(listed)
}

/// Adds the pages of a file.
fn add(listed: &mut Listed, seen: &mut HashSet<Url>, pages: Vec<String>, url: &Url) -> Result<(), SitemapError> {
    for page in pages {
        match own(&page, url) {
            Ok(page) if seen.insert(page.clone()) => listed.pages.push(page),
            Ok(_) => {}
            Err(reason) => listed.left_out.push((shown(&page), reason)),
        }
        if listed.pages.len() + listed.left_out.len() > MAX_SITEMAP_PAGES {
            return Err(too_large(url, "pages", MAX_SITEMAP_PAGES));
        }
    }
    Ok(())
}

async fn fetch_file(fetcher: &PageFetcher, url: &Url, domains: &DomainFilter) -> Result<File, SitemapError> {
    let fetched = fetcher.fetch(url.clone(), domains, &TYPES).await;
    let Fetched { bytes, .. } = fetched.map_err(|source| SitemapError::Page {
        url: url.to_string(),
        source,
    })?;
    let address = url.clone();
    // Fifty megabytes take a while.
    let read = tokio::task::spawn_blocking(move || unpacked(&bytes, &address).and_then(|text| parse(&text, &address)));
    read.await.unwrap_or_else(|_| Err(broken(url, "reading it broke off")))
}

/// The text of a file, which may be packed.
fn unpacked(bytes: &[u8], url: &Url) -> Result<String, SitemapError> {
    let mut text = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let unpacking = MultiGzDecoder::new(bytes).take(MAX_SITEMAP_BYTES as u64 + 1);
        std::io::BufReader::new(unpacking)
            .read_to_end(&mut text)
            .map_err(|error| broken(url, error.to_string()))?;
    } else {
        text.extend_from_slice(bytes);
    }
    if text.len() > MAX_SITEMAP_BYTES {
        return Err(too_large(url, "bytes", MAX_SITEMAP_BYTES));
    }
    String::from_utf8(text).map_err(|_| broken(url, "it is not in UTF-8"))
}

/// The addresses of a file: XML, or a line each.
fn parse(text: &str, url: &Url) -> Result<File, SitemapError> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if !text.starts_with('<') {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines: Vec<String> = lines.take(MAX_SITEMAP_PAGES + 1).map(str::to_owned).collect();
        if lines.first().is_none_or(|line| Url::parse(line).is_err()) {
            return Err(broken(url, "it is neither a sitemap in XML nor a list of addresses"));
        }
        return Ok(File::Pages(lines));
    }
    let mut reader = Reader::from_str(text);
    let mut path: Vec<String> = Vec::new();
    let (mut root, mut address, mut addresses) = (None, String::new(), Vec::new());
    loop {
        let event = reader.read_event().map_err(|error| broken(url, error.to_string()))?;
        // The elements of another vocabulary, such as those of pictures, have a prefix.
        let is_address =
            matches!(path.as_slice(), [_, entry, loc] if loc == "loc" && (entry == "url" || entry == "sitemap"));
        match event {
            Event::Start(start) => {
                let name = start.name().0.to_owned();
                if path.len() == MAX_DEPTH {
                    return Err(broken(url, "its elements nest too deep"));
                }
                root.get_or_insert_with(|| name.clone());
                path.push(name);
            }
            Event::Text(text) if is_address => push(&mut address, &text),
            Event::CData(text) if is_address => push(&mut address, &text),
            Event::GeneralRef(reference) if is_address => match reference.resolve_char_ref() {
                Ok(Some(c)) => address.push(c),
                _ => push(
                    &mut address,
                    quick_xml::escape::resolve_xml_entity(&reference).unwrap_or_default(),
                ),
            },
            Event::End(_) => {
                path.pop();
                if is_address {
                    addresses.push(std::mem::take(&mut address).trim().to_owned());
                }
                if addresses.len() > MAX_SITEMAP_PAGES {
                    return Err(too_large(url, "pages", MAX_SITEMAP_PAGES));
                }
            }
            Event::Eof if !path.is_empty() => return Err(broken(url, "it ends within an element")),
            Event::Eof => break,
            _ => {}
        }
    }
    match root.as_deref() {
        Some("urlset") => Ok(File::Pages(addresses)),
        Some("sitemapindex") => Ok(File::Index(addresses)),
        Some(other) => Err(broken(
            url,
            format!("it is <{}> and neither <urlset> nor <sitemapindex>", shown(other)),
        )),
        None => Err(broken(url, "it is empty")),
    }
}

/// Appends to an address; one that becomes too long is refused later.
fn push(address: &mut String, text: &str) {
    if address.len() <= MAX_URL_BYTES {
        address.push_str(&text[..text.floor_char_boundary(MAX_URL_BYTES + 1)]);
    }
}

/// An address that a sitemap names, of its own site.
fn own(address: &str, sitemap: &Url) -> Result<Url, &'static str> {
    if address.len() > MAX_URL_BYTES {
        return Err("its address is too long");
    }
    let mut url = Url::parse(address).map_err(|_| "it is no address")?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("it is neither http nor https");
    }
    let site = Domain::of(sitemap).map(|domain| domain.to_string());
    let site = site.and_then(|site| Domain::parse(site.strip_prefix("www.").unwrap_or(&site)).ok());
    let is_own = Domain::of(&url)
        .zip(site)
        .is_some_and(|(domain, site)| domain.is_within(&site));
    if !is_own {
        return Err("it is of another site than the sitemap");
    }
    url.set_fragment(None);
    Ok(url)
}

fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

fn broken(url: &Url, reason: impl Into<String>) -> SitemapError {
    SitemapError::Broken {
        url: url.to_string(),
        reason: reason.into(),
    }
}

fn too_large(url: &Url, what: &'static str, limit: usize) -> SitemapError {
    SitemapError::TooLarge {
        url: url.to_string(),
        what,
        limit,
    }
}

#[cfg(test)]
mod tests;

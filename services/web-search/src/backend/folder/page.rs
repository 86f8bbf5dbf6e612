//! Saved pages, and how they are read from files.

use std::collections::HashMap;
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use emend_core::{BoundedLines, limits::MAX_TITLE_BYTES, open_regular};
use emend_text::html::HtmlError;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::front_matter;
use crate::backend::html;
use crate::backend::page::{Page, web_url};
use emend_pages::Domain;

/// Maximum bytes of a page, as for a document of a collection. Larger files or lines of a .jsonl file are skipped.
const MAX_PAGE_BYTES: usize = 32 * 1024 * 1024;

/// Longest time to read a file, which takes milliseconds.
const MAX_TIME: Duration = Duration::from_secs(10);
/// How many lines of a .jsonl file are read between two checks whether to stop.
const CHECK_EVERY: usize = 64;

/// Why a file, or a line of it, is not a page.
#[derive(Debug, thiserror::Error)]
pub(super) enum PageError {
    #[error("cannot be read")]
    Read(#[from] io::Error),
    #[error("is larger than {MAX_PAGE_BYTES} bytes")]
    TooLarge,
    #[error("reading it took longer than {} s", MAX_TIME.as_secs())]
    TooSlow,
    #[error("the service stops")]
    Stopped,
    #[error(transparent)]
    Html(#[from] HtmlError),
    #[error("holds no text")]
    Empty,
    #[error("line {line} is not a page: {reason}")]
    Line { line: usize, reason: String },
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Html,
    Markdown,
    Text,
    JsonLines,
}

impl Format {
    /// The format by file extension; `None` for a file that is not a page.
    pub(super) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "html" | "htm" => Some(Self::Html),
            "md" | "markdown" => Some(Self::Markdown),
            "txt" => Some(Self::Text),
            "jsonl" => Some(Self::JsonLines),
            _ => None,
        }
    }
}

/// When reading has to stop.
pub(super) struct Budget<'c> {
    until: Instant,
    closed: &'c CancellationToken,
}

impl<'c> Budget<'c> {
    /// The budget of one file. Reading stops when `closed` is cancelled.
    pub(super) fn of_file(closed: &'c CancellationToken) -> Self {
        let until = Instant::now() + MAX_TIME;
        Self { until, closed }
    }

    fn check(&self) -> Result<(), PageError> {
        if self.closed.is_cancelled() {
            Err(PageError::Stopped)
        } else if Instant::now() >= self.until {
            Err(PageError::TooSlow)
        } else {
            Ok(())
        }
    }
}

/// Reads the pages of one file. Unreadable pages are reported to `on_error` and skipped, so that one bad page does not
/// affect the others.
pub(super) fn read(
    path: &Path,
    format: Format,
    saved: SystemTime,
    budget: &Budget<'_>,
    on_error: &mut dyn FnMut(PageError),
) -> Vec<Page> {
    let mut pages = Vec::new();
    let result = match format {
        Format::JsonLines => json_lines(path, saved, budget, &mut pages, on_error),
        _ => single(path, format, saved, budget).map(|page| pages.push(page)),
    };
    if let Err(error) = result {
        on_error(error);
    }
    pages
}

fn single(path: &Path, format: Format, saved: SystemTime, budget: &Budget<'_>) -> Result<Page, PageError> {
    let mut bytes = Vec::new();
    open_regular(path)?
        .take(MAX_PAGE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() > MAX_PAGE_BYTES {
        return Err(PageError::TooLarge);
    }
    let found = if format == Format::Html {
        let stop = || budget.check().is_err();
        html::read(&html::decode(&bytes), &stop).map_err(|error| match error {
            HtmlError::Stopped => budget.check().err().unwrap_or(PageError::Html(error)),
            error => PageError::Html(error),
        })?
    } else {
        front_matter::read(&String::from_utf8_lossy(&bytes), format == Format::Markdown)
    };
    let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let title = if found.title.is_empty() { stem() } else { found.title };
    let url = found
        .url
        .as_deref()
        .and_then(web_url)
        .or_else(|| file_url(path))
        .ok_or(PageError::Empty)?;
    let published = found.published.map(|date| ("published".to_owned(), date));
    page(url, title, found.text, saved, published.into_iter().collect())
}

/// A page in a JSON line. Other fields are ignored.
#[derive(Deserialize)]
struct Line {
    text: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    doc_id: Option<serde_json::Value>,
}

fn json_lines(
    path: &Path,
    saved: SystemTime,
    budget: &Budget<'_>,
    pages: &mut Vec<Page>,
    on_error: &mut dyn FnMut(PageError),
) -> Result<(), PageError> {
    let file = open_regular(path)?;
    let base = file_url(path).ok_or(PageError::Empty)?;
    for line in BoundedLines::new(BufReader::new(file), MAX_PAGE_BYTES) {
        let line = line?;
        // A large file holds many pages: the time is that of each.
        if line.number.is_multiple_of(CHECK_EVERY) && budget.closed.is_cancelled() {
            return Err(PageError::Stopped);
        }
        match line.bytes {
            Some(bytes) if bytes.trim_ascii().is_empty() => {}
            Some(bytes) => match json_line(&bytes, line.number, &base, saved) {
                Ok(page) => pages.push(page),
                Err(error) => on_error(error),
            },
            None => on_error(PageError::Line {
                line: line.number,
                reason: format!("it is larger than {MAX_PAGE_BYTES} bytes"),
            }),
        }
    }
    Ok(())
}

fn json_line(bytes: &[u8], line: usize, base: &Url, saved: SystemTime) -> Result<Page, PageError> {
    let wrong = |reason: String| PageError::Line { line, reason };
    let parsed: Line = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
    let doc_id = parsed
        .doc_id
        .map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
    let url = parsed.url.as_deref().and_then(web_url).unwrap_or_else(|| {
        let mut url = base.clone();
        url.set_fragment(Some(doc_id.as_deref().unwrap_or(&line.to_string())));
        url
    });
    let metadata = doc_id.map(|id| ("doc_id".to_owned(), id)).into_iter().collect();
    page(
        url,
        parsed.title.unwrap_or_default().trim().to_owned(),
        parsed.text,
        saved,
        metadata,
    )
    .map_err(|error| wrong(error.to_string()))
}

fn page(
    url: Url,
    title: String,
    text: String,
    saved: SystemTime,
    metadata: HashMap<String, String>,
) -> Result<Page, PageError> {
    if !text.contains(char::is_alphanumeric) {
        return Err(PageError::Empty);
    }
    Ok(Page {
        domain: Domain::of(&url),
        url,
        title: emend_text::one_line(&title, MAX_TITLE_BYTES),
        text,
        saved,
        metadata,
    })
}

fn file_url(path: &Path) -> Option<Url> {
    let absolute: PathBuf = std::path::absolute(path).ok()?;
    Url::from_file_path(absolute).ok()
}

#[cfg(test)]
mod tests;

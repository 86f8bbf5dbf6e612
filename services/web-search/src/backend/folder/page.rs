//! Saved pages, and how they are read from files.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use emend_text::html::HtmlError;
use serde::Deserialize;
use url::Url;

use super::front_matter;
use crate::backend::html;
use crate::backend::page::{Page, web_url};
use crate::domains::Domain;

/// Maximum bytes of a page, as for a document of a collection. Larger files or lines of a .jsonl file are skipped.
const MAX_PAGE_BYTES: usize = 32 * 1024 * 1024;

/// Why a file, or a line of it, is not a page.
#[derive(Debug, thiserror::Error)]
pub(super) enum PageError {
    #[error("cannot be read")]
    Read(#[from] io::Error),
    #[error("is larger than {MAX_PAGE_BYTES} bytes")]
    TooLarge,
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

/// Reads the pages of one file. Unreadable pages are reported to `on_error` and skipped, so that one bad page does not
/// affect the others.
pub(super) fn read(path: &Path, format: Format, saved: SystemTime, on_error: &mut dyn FnMut(PageError)) -> Vec<Page> {
    let result = match format {
        Format::JsonLines => json_lines(path, saved, on_error),
        _ => single(path, format, saved).map(|page| vec![page]),
    };
    result.unwrap_or_else(|error| {
        on_error(error);
        Vec::new()
    })
}

fn single(path: &Path, format: Format, saved: SystemTime) -> Result<Page, PageError> {
    if std::fs::metadata(path)?.len() > MAX_PAGE_BYTES as u64 {
        return Err(PageError::TooLarge);
    }
    let bytes = std::fs::read(path)?;
    let found = if format == Format::Html {
        html::read(&html::decode(&bytes))?
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
    page(url, title, found.text, saved, HashMap::new())
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

fn json_lines(path: &Path, saved: SystemTime, on_error: &mut dyn FnMut(PageError)) -> Result<Vec<Page>, PageError> {
    let mut reader = BufReader::new(std::fs::File::open(path)?);
    let base = file_url(path).ok_or(PageError::Empty)?;
    let mut pages = Vec::new();
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        if reader.read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        match json_line(&bytes, line, &base, saved) {
            Ok(page) => pages.push(page),
            Err(error) => on_error(error),
        }
    }
    Ok(pages)
}

fn json_line(bytes: &[u8], line: usize, base: &Url, saved: SystemTime) -> Result<Page, PageError> {
    let wrong = |reason: String| PageError::Line { line, reason };
    if bytes.len() > MAX_PAGE_BYTES {
        return Err(wrong(format!("it is larger than {MAX_PAGE_BYTES} bytes")));
    }
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
        title,
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

//! Finds documents in files and folders, and reads them one at a time.

mod kinds;

use emend_core::{BoundedLines, NumberedLine, limits::MAX_DOCUMENT_BYTES, open_regular};
use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
};

use emend_proto::v1::{Document, DocumentFormat};
use serde_json::Value;

pub use kinds::{FileKind, summary};

/// Extensions of files with a JSON object a line, each of them a document.
const JSON_LINES: [&str; 2] = ["jsonl", "ndjson"];
/// Folders without documents of their own: what tools fetched or built.
const BUILT: [&str; 2] = ["node_modules", "__pycache__"];
/// Longest line of such a file, in bytes: a document of the largest size, and what JSON adds to it.
const MAX_JSON_LINE_BYTES: usize = 40 << 20;
/// How much of a file without a known extension is looked at, in bytes.
const HEAD_BYTES: u64 = 8192;

/// A file or line that is not a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The file, and the line number if only a line is skipped.
    pub source: String,
    /// The reason, and what to do.
    pub reason: String,
    /// What kind of file it is.
    pub kind: FileKind,
}

/// A file that may hold documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    path: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    One(DocumentFormat),
    JsonLines,
}

/// The files under some paths.
#[derive(Debug, Default)]
pub struct Found {
    /// The files to read, in the order of their paths.
    pub sources: Vec<Source>,
    /// Skipped files.
    pub skipped: Vec<Skipped>,
}

/// A path that cannot be read.
#[derive(Debug)]
pub struct Missing {
    path: PathBuf,
    source: io::Error,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "cannot read {}: {}", self.path.display(), self.source)
    }
}

impl std::error::Error for Missing {}

/// Finds the files under `paths`. A file that is given by name is always read. In folders, files are read whose format
/// is known by their extension and those that are text; hidden files and folders, and what tools built, are left out.
///
/// # Errors
/// A path that does not exist or cannot be read.
pub fn find(paths: &[PathBuf]) -> Result<Found, Missing> {
    let mut found = Found::default();
    for path in paths {
        let path = fs::canonicalize(path).map_err(|source| Missing {
            path: path.clone(),
            source,
        })?;
        if path.is_dir() {
            find_in_folder(&path, &mut found);
        } else {
            let kind = kind_of(&path).unwrap_or(Kind::One(DocumentFormat::Unspecified));
            found.sources.push(Source { path, kind });
        }
    }
    found.sources.sort_by(|a, b| a.path.cmp(&b.path));
    found.sources.dedup();
    Ok(found)
}

fn find_in_folder(folder: &Path, found: &mut Found) {
    let walk = ignore::WalkBuilder::new(folder)
        .standard_filters(false)
        .hidden(true)
        .sort_by_file_path(Path::cmp)
        .filter_entry(|entry| entry.depth() == 0 || !is_built(entry.path()))
        .build();
    for entry in walk {
        match entry {
            Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                let path = entry.into_path();
                match kind_of(&path).or_else(|| kind_by_content(&path)) {
                    Some(kind) => found.sources.push(Source { path, kind }),
                    None => found.skipped.push(Skipped {
                        kind: FileKind::of(&path),
                        source: path.display().to_string(),
                        reason: "it is neither text nor a document that is read".to_owned(),
                    }),
                }
            }
            // Links are not followed: they could lead out of the folder, or round in it.
            Ok(entry) if entry.path_is_symlink() => found.skipped.push(Skipped {
                kind: FileKind::Link,
                source: entry.path().display().to_string(),
                reason: "it is a symbolic link, which is not followed; give its target by name".to_owned(),
            }),
            Ok(entry) if entry.file_type().is_some_and(|kind| !kind.is_dir()) => found.skipped.push(Skipped {
                kind: FileKind::Special,
                source: entry.path().display().to_string(),
                reason: "it is a pipe, a device or a socket".to_owned(),
            }),
            Ok(_) => {}
            Err(error) => found.skipped.push(Skipped {
                kind: FileKind::Unreadable,
                source: folder.display().to_string(),
                reason: error.to_string(),
            }),
        }
    }
}

/// Whether a folder holds what a tool fetched or built: by its name, or, for `target`, by the `Cargo.toml` beside it.
fn is_built(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_target = || name == "target" && path.with_file_name("Cargo.toml").is_file();
    (BUILT.contains(&name) || is_target()) && path.is_dir()
}

fn kind_of(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_string_lossy();
    if emend_documents::extension(&name).is_some_and(|extension| JSON_LINES.contains(&extension.as_str())) {
        return Some(Kind::JsonLines);
    }
    emend_documents::Format::of_name(&name).map(|format| {
        Kind::One(match format {
            emend_documents::Format::PlainText => DocumentFormat::PlainText,
            // The retriever finds out by the same name, and by the content where the extension is wrong.
            _ => DocumentFormat::Unspecified,
        })
    })
}

/// Plain text by the beginning of a file. What is known not to be prose, such as drawings in SVG, is none.
fn kind_by_content(path: &Path) -> Option<Kind> {
    if FileKind::of(path) != FileKind::Other {
        return None;
    }
    let mut head = Vec::new();
    open_regular(path).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    let is_text = !head.is_empty() && emend_documents::is_text(&head);
    is_text.then_some(Kind::One(DocumentFormat::PlainText))
}

impl Source {
    /// The documents of this file, read lazily.
    pub fn read(&self) -> Box<dyn Iterator<Item = Result<Document, Skipped>> + Send> {
        match self.kind {
            Kind::One(format) => Box::new(std::iter::once(read_one(&self.path, format))),
            Kind::JsonLines => read_json_lines(&self.path),
        }
    }

    /// The number of documents in the file. It is cheap to compute, and exact unless there are blank lines.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn count(&self) -> io::Result<u64> {
        match self.kind {
            Kind::One(_) => Ok(1),
            Kind::JsonLines => {
                let mut lines = 0;
                let mut reader = BufReader::new(open_regular(&self.path)?);
                loop {
                    let (read, newlines) = {
                        let buffer = reader.fill_buf()?;
                        (buffer.len(), buffer.iter().filter(|byte| **byte == b'\n').count())
                    };
                    if read == 0 {
                        return Ok(lines);
                    }
                    lines += newlines as u64;
                    reader.consume(read);
                }
            }
        }
    }
}

fn skipped(source: String, reason: impl Into<String>) -> Skipped {
    Skipped {
        source,
        reason: reason.into(),
        kind: FileKind::Unreadable,
    }
}

fn read_one(path: &Path, format: DocumentFormat) -> Result<Document, Skipped> {
    let name = path.display().to_string();
    let unreadable = |error: io::Error| skipped(name.clone(), error.to_string());
    let file = open_regular(path).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?.len();
    if size == 0 {
        return Err(skipped(name, "is empty"));
    }
    if size > MAX_DOCUMENT_BYTES as u64 {
        return Err(skipped(
            name,
            format!("is {} MiB, above the limit of 32 MiB; split it", size / (1024 * 1024)),
        ));
    }
    let mut content = Vec::new();
    // It may grow meanwhile: the retriever says so where it is too large then.
    let most = MAX_DOCUMENT_BYTES as u64 + 1;
    file.take(most).read_to_end(&mut content).map_err(unreadable)?;
    let title = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Ok(Document {
        id: name.clone(),
        // The retriever extracts the titles of all other formats.
        title: title
            .filter(|_| format == DocumentFormat::PlainText)
            .unwrap_or_default(),
        format: format.into(),
        content,
        source: name,
        metadata: HashMap::new(),
    })
}

fn read_json_lines(path: &Path) -> Box<dyn Iterator<Item = Result<Document, Skipped>> + Send> {
    let name = path.display().to_string();
    match open_regular(path) {
        Err(error) => Box::new(std::iter::once(Err(skipped(name, error.to_string())))),
        Ok(file) => Box::new(json_documents(file, name, MAX_JSON_LINE_BYTES)),
    }
}

/// The documents of a file of JSON Lines. A line longer than `limit` bytes is skipped; where reading fails, it ends.
fn json_documents(file: File, name: String, limit: usize) -> impl Iterator<Item = Result<Document, Skipped>> + Send {
    let mut has_failed = false;
    BoundedLines::new(BufReader::new(file), limit)
        .take_while(move |line| !std::mem::replace(&mut has_failed, line.is_err()))
        .filter_map(move |line| {
            let NumberedLine { number, bytes } = match line {
                Ok(line) => line,
                Err(error) => return Some(Err(skipped(name.clone(), error.to_string()))),
            };
            let at = format!("{name}:{number}");
            match bytes {
                Some(bytes) if bytes.trim_ascii().is_empty() => None,
                Some(bytes) => Some(json_document(&bytes, &at)),
                None => Some(Err(oversized(at, limit))),
            }
        })
}

/// A line that is not looked at.
fn oversized(at: String, limit: usize) -> Skipped {
    Skipped {
        source: at,
        reason: format!("the line is longer than {} MiB; split the document", limit >> 20),
        kind: FileKind::LongLine,
    }
}

/// Parses a document from a JSON line: `id` or `doc_id`, `text`, and optionally `title` and `url`. Other scalar fields
/// become metadata.
fn json_document(line: &[u8], at: &str) -> Result<Document, Skipped> {
    let refuse = |reason: String| skipped(at.to_owned(), reason);
    let value: Value = serde_json::from_slice(line).map_err(|error| refuse(format!("is not JSON: {error}")))?;
    let Value::Object(fields) = value else {
        return Err(refuse("is not a JSON object with `doc_id` and `text`".to_owned()));
    };
    let text_of = |name: &str| fields.get(name).and_then(scalar);
    let id = text_of("doc_id")
        .or_else(|| text_of("id"))
        .ok_or_else(|| refuse("has no `doc_id` and no `id`".to_owned()))?;
    let text = text_of("text").ok_or_else(|| refuse(format!("document `{id}` has no `text`")))?;
    if text.trim().is_empty() {
        return Err(refuse(format!("the `text` of document `{id}` is empty")));
    }
    if text.len() > MAX_DOCUMENT_BYTES {
        let limit = MAX_DOCUMENT_BYTES >> 20;
        return Err(refuse(format!(
            "the `text` of document `{id}` is above the limit of {limit} MiB; split it"
        )));
    }
    let metadata = fields
        .iter()
        .filter(|(name, _)| !["doc_id", "id", "title", "text", "url"].contains(&name.as_str()))
        .filter_map(|(name, value)| Some((name.clone(), scalar(value)?)))
        .collect();
    Ok(Document {
        title: text_of("title").unwrap_or_default(),
        format: DocumentFormat::PlainText.into(),
        content: text.into_bytes(),
        source: text_of("url").unwrap_or_else(|| at.to_owned()),
        metadata,
        id,
    })
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests;

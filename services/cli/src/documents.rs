//! Finds documents in files and folders, and reads them one at a time.

mod fields;
mod kinds;
mod pages;
mod records;
mod select;
mod walk;

use emend_core::{limits::MAX_DOCUMENT_BYTES, open_regular_unlinked};
use std::{
    collections::{BTreeSet, HashMap},
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use emend_proto::v1::{Document, DocumentFormat};

pub use fields::{Fields, UnknownField};
pub use kinds::{FileKind, Kinds, summary};
pub(crate) use pages::NoPage;
pub use pages::{AddressError, Addresses, PageSource, is_address};
use records::Documents;
pub use select::{BadGlob, Selection};
pub use walk::Part;

/// Extensions of files with a JSON object a line, each of them a document.
const JSON_LINES: [&str; 2] = ["jsonl", "ndjson"];
/// How much of a file without a known extension is looked at, in bytes.
const HEAD_BYTES: u64 = 8192;

/// Which files are read, and how.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Which files of a folder.
    pub selection: Selection,
    /// Which fields of records make a document.
    pub fields: Arc<Fields>,
}

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
    Rows,
}

/// The files under some paths.
#[derive(Debug, Default)]
pub struct Found {
    /// The files to read, in the order of their paths.
    pub sources: Vec<Source>,
    /// The pages of the web to fetch.
    pub pages: Vec<PageSource>,
    /// Skipped files.
    pub skipped: Vec<Skipped>,
    /// Which fields of records make a document.
    pub fields: Arc<Fields>,
    /// Files, folders, pages and sitemaps that were looked for, in full.
    pub roots: Vec<PathBuf>,
    /// Files and folders that could not be looked at: nobody knows which documents are in them.
    pub unread: Vec<PathBuf>,
}

impl Found {
    /// Reports a file or folder that cannot be looked at.
    fn leave(&mut self, skipped: Skipped) {
        self.unread.push(PathBuf::from(&skipped.source));
        self.skipped.push(skipped);
    }

    /// Makes sure that the named fields are those of records.
    ///
    /// # Errors
    /// [`UnknownField`] for a field that no record has, which lists those that they have.
    pub fn check_fields(&self) -> Result<(), UnknownField> {
        if !self.fields.are_named() {
            return Ok(());
        }
        let mut known = BTreeSet::new();
        let mut has_records = false;
        for source in &self.sources {
            match source.kind {
                Kind::One(_) => continue,
                Kind::JsonLines => records::fields_of_json_lines(&source.path, &mut known),
                Kind::Rows => records::fields_of_rows(&source.path, &mut known),
            }
            has_records = true;
        }
        self.fields.check(has_records.then_some(&known))
    }
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
/// is known by their extension and those that are text; hidden files and folders, what tools built, and what the selection
/// leaves out are not.
///
/// # Errors
/// A path that does not exist or cannot be read.
pub fn find(paths: &[PathBuf], reading: &Reading) -> Result<Found, Missing> {
    let mut roots = Vec::new();
    for path in paths {
        roots.push(fs::canonicalize(path).map_err(|source| Missing {
            path: path.clone(),
            source,
        })?);
    }
    let mut found = find_in(&roots, reading, None);
    found.roots = roots;
    Ok(found)
}

/// The files under full paths: all, or those of a part of them.
pub(crate) fn find_in(roots: &[PathBuf], reading: &Reading, part: Option<&Arc<Part>>) -> Found {
    let mut found = Found {
        fields: Arc::clone(&reading.fields),
        ..Found::default()
    };
    for path in roots {
        if path.is_dir() {
            walk::find(path, reading, part, &mut found);
        } else {
            let kind = kind_of(path, &reading.fields).unwrap_or(Kind::One(DocumentFormat::Unspecified));
            found.sources.push(Source {
                path: path.clone(),
                kind,
            });
        }
    }
    found.sources.sort_by(|a, b| a.path.cmp(&b.path));
    found.sources.dedup();
    found
}

fn kind_of(path: &Path, fields: &Fields) -> Option<Kind> {
    let name = path.file_name()?.to_string_lossy();
    if emend_documents::extension(&name).is_some_and(|extension| JSON_LINES.contains(&extension.as_str())) {
        return Some(Kind::JsonLines);
    }
    emend_documents::Format::of_name(&name).map(|format| match format {
        emend_documents::Format::Csv if fields.are_named() => Kind::Rows,
        emend_documents::Format::PlainText => Kind::One(DocumentFormat::PlainText),
        // The retriever finds out by the same name, and by the content where the extension is wrong.
        _ => Kind::One(DocumentFormat::Unspecified),
    })
}

/// Plain text by the beginning of a file. What is known not to be prose, such as drawings in SVG, is none.
fn kind_by_content(path: &Path) -> io::Result<Option<Kind>> {
    if FileKind::of(path) != FileKind::Other {
        return Ok(None);
    }
    let mut head = Vec::new();
    open_regular_unlinked(path)?.take(HEAD_BYTES).read_to_end(&mut head)?;
    let is_text = !head.is_empty() && emend_documents::is_text(&head);
    Ok(is_text.then_some(Kind::One(DocumentFormat::PlainText)))
}

/// The size of the files together.
pub fn total_bytes(sources: &[Source]) -> u64 {
    sources.iter().map(Source::bytes).sum()
}

impl Source {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether its records are documents of their own, with identifiers of their own.
    pub fn has_records(&self) -> bool {
        !matches!(self.kind, Kind::One(_))
    }

    /// The documents of this file, read lazily.
    pub fn read(&self, fields: &Arc<Fields>) -> Documents {
        match self.kind {
            Kind::One(format) => Box::new(std::iter::once(read_one(&self.path, format))),
            Kind::JsonLines => records::json_lines(&self.path, fields),
            Kind::Rows => records::rows(&self.path, fields),
        }
    }

    /// The size of the file; 0 where it cannot be looked at.
    pub fn bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
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
    let file = open_regular_unlinked(path).map_err(unreadable)?;
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
        owner: String::new(),
    })
}

#[cfg(test)]
mod tests;

//! The text of files: what a document says, as Markdown where it has structure.

mod bounds;
mod content;
mod delimited;
mod encoding;
mod epub;
mod error;
mod format;
mod html;
mod json;
mod mail;
mod markdown;
mod office;
mod opendocument;
mod package;
mod pdf;
mod process;
mod reader;
mod rows;
mod settings;
mod table;
mod xml;

use std::borrow::Cow;

use emend_core::limits::MAX_DOCUMENT_BYTES;

use bounds::Bounds;
pub use bounds::{
    MAX_COLUMNS, MAX_DEPTH, MAX_MARKUP_BYTES, MAX_PAGES, MAX_PARTS, MAX_ROWS, MAX_TEXT_BYTES, MAX_TIME,
    MAX_UNPACKED_BYTES,
};
pub use error::DocumentError;
pub use format::{Format, extension, stem};
pub use process::{MAX_READER_BYTES, reader_process};
pub use rows::{MAX_ROW_BYTES, Row, RowError, Rows};

/// What is read, on one line.
pub const READABLE: &str = "what is read is text in any encoding, source code, Markdown, HTML, PDF, Word, PowerPoint, Excel, \
                            OpenDocument, EPUB, e-mail, CSV, JSON, YAML and TOML";

/// The text of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    /// The text that is cut, quoted and counted in; Markdown where `markdown`.
    pub text: String,
    /// The title that the document itself names; the file's name where it names none and has no heading, or where its
    /// headings are those of pages, slides and sheets. Plain text has none.
    pub title: Option<String>,
    /// Whether `text` has Markdown's headings.
    pub markdown: bool,
    /// Where each page or slide begins, in order; empty for a document without pages.
    pub pages: Vec<PageStart>,
}

/// Where a page begins in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageStart {
    /// Number of the page or slide in the document, from 1.
    pub number: u32,
    /// Offset of its first byte in the text.
    pub start: usize,
}

/// Whether the beginning of a file is text, in whatever encoding.
pub fn is_text(head: &[u8]) -> bool {
    !content::is_not_prose(head) && encoding::is_text(head)
}

/// The text of a document called `name`, a path or an address. It is read as `format`, else by its extension; what is no
/// text by its bytes is read as what it is. Blocks: a large document takes seconds. `stop` is asked again and again
/// whether anybody still waits for the text.
///
/// # Errors
/// The content is not of its format, is above a limit, or holds no text; [`DocumentError::Stopped`].
pub fn extract(
    name: &str,
    format: Option<Format>,
    bytes: &[u8],
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Extracted, DocumentError> {
    if bytes.len() > MAX_DOCUMENT_BYTES {
        return Err(DocumentError::TooLarge { bytes: bytes.len() });
    }
    let named = format.or_else(|| Format::of_name(name));
    let format = match (content::binary_format(bytes), named) {
        (Some(found), Some(named)) if format.is_some() && found != named => {
            return Err(DocumentError::OtherFormat {
                expected: named,
                found: found.to_string(),
            });
        }
        (Some(found), _) => found,
        (None, Some(named)) if named.is_binary() => {
            return Err(DocumentError::OtherFormat {
                expected: named,
                found: content::signature(bytes).unwrap_or_else(|| {
                    let what = if is_text(bytes) {
                        "text"
                    } else {
                        "damaged, or a binary file"
                    };
                    what.to_owned()
                }),
            });
        }
        (None, named) => named.unwrap_or(Format::PlainText),
    };
    if !format.is_binary() && content::is_not_prose(bytes) {
        return Err(content::unreadable(bytes));
    }
    let bounds = Bounds::new(stop);
    let extracted = if is_read_by_a_library(format) && process::is_available() {
        process::read(name, format, bytes, bounds)?
    } else if is_read_by_a_library(format) {
        let (name, bytes) = (name.to_owned(), bytes.to_owned());
        reader::READERS.watch(format, bounds, move |bounds| read(&name, format, &bytes, bounds))?
    } else {
        reader::on_own_stack(format, || read(name, format, bytes, bounds))?
    };
    if !extracted.text.chars().any(|c| !c.is_whitespace() && !c.is_control()) {
        let after = match format {
            Format::Html => " outside of its markup",
            _ => "",
        };
        return Err(DocumentError::Empty { after });
    }
    Ok(extracted)
}

fn read(name: &str, format: Format, bytes: &[u8], bounds: Bounds<'_>) -> Result<Extracted, DocumentError> {
    let text = || encoding::decode(bytes);
    let plain = |text: Cow<'_, str>| Extracted {
        text: text.into_owned(),
        ..Extracted::default()
    };
    let mut extracted = match format {
        Format::PlainText => plain(text()?),
        Format::Markdown => Extracted {
            markdown: true,
            ..plain(text()?)
        },
        Format::Html => html::extract(&text()?, bounds)?,
        Format::Csv => delimited::extract(&text()?, bounds)?,
        Format::Json => Extracted {
            text: json::entries(&text()?, bounds)?,
            ..Extracted::default()
        },
        Format::Yaml | Format::Toml => Extracted {
            text: settings::entries(&text()?),
            ..Extracted::default()
        },
        Format::Email => mail::extract(bytes, bounds)?,
        Format::Pdf => pdf::extract(bytes, bounds)?,
        Format::Docx | Format::Pptx | Format::Xlsx | Format::Doc | Format::Ppt | Format::Xls => {
            office::extract(format, bytes, bounds)?
        }
        Format::Odt | Format::Ods | Format::Odp => opendocument::extract(format, bytes, bounds)?,
        Format::Epub => epub::extract(bytes, bounds)?,
    };
    bounds.check(&extracted.text)?;
    let has_heading = || extracted.text.lines().any(|line| line.starts_with('#'));
    let is_nameless = format != Format::PlainText && (has_name_as_title(format) || !has_heading());
    if extracted.title.is_none() && is_nameless {
        extracted.title = Some(stem(name).to_owned()).filter(|title| !title.is_empty());
    }
    Ok(extracted)
}

/// Whether the first heading of such a document would be the number of a page or the name of a sheet.
fn has_name_as_title(format: Format) -> bool {
    matches!(
        format,
        Format::Pdf
            | Format::Pptx
            | Format::Ppt
            | Format::Odp
            | Format::Xlsx
            | Format::Xls
            | Format::Ods
            | Format::Csv
            | Format::Json
            | Format::Yaml
            | Format::Toml
    )
}

/// Whether it is read by a library: one call that cannot be told to stop, and whose memory nobody counts.
fn is_read_by_a_library(format: Format) -> bool {
    format.is_binary() || format == Format::Email
}

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;

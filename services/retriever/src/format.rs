//! From a document's bytes to its text.

mod html;
mod text;

use emend_core::limits::MAX_DOCUMENT_BYTES;
use emend_proto::v1::{Document, DocumentFormat};
use emend_text::html::HtmlError;

/// The text of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extracted {
    /// The text that is cut, quoted and counted in; Markdown where `markdown`.
    pub(crate) text: String,
    /// The title that the document itself names.
    pub(crate) title: Option<String>,
    /// Whether `text` has Markdown's headings.
    pub(crate) markdown: bool,
}

/// Why a document has no text that could be stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FormatError {
    #[error("it is larger than 32 MiB ({} MiB): split it into several documents", bytes.div_ceil(1 << 20))]
    TooLarge { bytes: usize },
    #[error("it is {kind}, not text: convert it to plain text, Markdown or HTML first")]
    Binary { kind: String },
    #[error("it is UTF-16, not UTF-8: save it as UTF-8")]
    Utf16,
    #[error("it is not UTF-8, byte {offset} is wrong: save it as UTF-8")]
    NotUtf8 { offset: usize },
    #[error("it has no text{after}: there is nothing to find in it")]
    Empty { after: &'static str },
    #[error(transparent)]
    Html(#[from] HtmlError),
}

/// Reads a document by its `format`, or by the extension of its source. Blocks: a large page takes seconds.
pub(crate) fn extract(document: &Document) -> Result<Extracted, FormatError> {
    if document.content.len() > MAX_DOCUMENT_BYTES {
        return Err(FormatError::TooLarge {
            bytes: document.content.len(),
        });
    }
    let text = text::decode(&document.content)?;
    let extracted = match format_of(document) {
        DocumentFormat::Html => html::extract(text)?,
        DocumentFormat::Markdown => Extracted {
            text: text.to_owned(),
            title: None,
            markdown: true,
        },
        DocumentFormat::PlainText | DocumentFormat::Unspecified => Extracted {
            text: text.to_owned(),
            title: None,
            markdown: false,
        },
    };
    if !extracted.text.chars().any(|c| !c.is_whitespace() && !c.is_control()) {
        let after = if text.trim().is_empty() {
            ""
        } else {
            " outside of its markup"
        };
        return Err(FormatError::Empty { after });
    }
    Ok(extracted)
}

/// The format asked for, else that of the extension, else plain text.
fn format_of(document: &Document) -> DocumentFormat {
    match document.format() {
        DocumentFormat::Unspecified => {
            let source = if document.source.is_empty() {
                &document.id
            } else {
                &document.source
            };
            by_extension(source)
        }
        format => format,
    }
}

fn by_extension(source: &str) -> DocumentFormat {
    // An address may go on after the file's name.
    let source = if source.contains("://") {
        source.split(['?', '#']).next().unwrap_or(source)
    } else {
        source
    };
    let name = source.rsplit(['/', '\\']).next().unwrap_or(source);
    match name
        .rsplit_once('.')
        .map(|(_, extension)| extension.to_ascii_lowercase())
        .as_deref()
    {
        Some("md" | "markdown" | "mdx" | "mkd") => DocumentFormat::Markdown,
        Some("html" | "htm" | "xhtml") => DocumentFormat::Html,
        _ => DocumentFormat::PlainText,
    }
}

#[cfg(test)]
mod tests;

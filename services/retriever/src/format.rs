//! From a document of a request to its text.

use emend_documents::{DocumentError, Extracted, Format};
use emend_proto::v1::{Document, DocumentFormat};

/// Reads a document by its `format`, or by the extension of its source. Blocks: a large document takes seconds; asks
/// `stop` again and again whether anybody still waits.
pub(crate) fn extract(document: &Document, stop: &(dyn Fn() -> bool + Sync)) -> Result<Extracted, DocumentError> {
    let name = if document.source.is_empty() {
        &document.id
    } else {
        &document.source
    };
    emend_documents::extract(name, format(document.format()), &document.content, stop)
}

fn format(format: DocumentFormat) -> Option<Format> {
    Some(match format {
        DocumentFormat::Unspecified => return None,
        DocumentFormat::PlainText => Format::PlainText,
        DocumentFormat::Markdown => Format::Markdown,
        DocumentFormat::Html => Format::Html,
        DocumentFormat::Pdf => Format::Pdf,
        DocumentFormat::Docx => Format::Docx,
        DocumentFormat::Pptx => Format::Pptx,
        DocumentFormat::Xlsx => Format::Xlsx,
        DocumentFormat::Doc => Format::Doc,
        DocumentFormat::Ppt => Format::Ppt,
        DocumentFormat::Xls => Format::Xls,
        DocumentFormat::Odt => Format::Odt,
        DocumentFormat::Ods => Format::Ods,
        DocumentFormat::Odp => Format::Odp,
        DocumentFormat::Epub => Format::Epub,
        DocumentFormat::Email => Format::Email,
        DocumentFormat::Csv => Format::Csv,
        DocumentFormat::Json => Format::Json,
        DocumentFormat::Yaml => Format::Yaml,
        DocumentFormat::Toml => Format::Toml,
    })
}

#[cfg(test)]
mod tests;

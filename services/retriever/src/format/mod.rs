//! From a document's bytes to its text.

mod html;
mod nesting;
mod text;

use emend_proto::v1::{Document, DocumentFormat};

/// Largest document, in bytes.
pub(crate) const MOST_BYTES: usize = 32 << 20;

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
    #[error("its HTML is nested more than {limit} elements deep: simplify it, or send it as plain text")]
    TooDeep { limit: usize },
    #[error("its HTML cannot be read: {detail}")]
    Html { detail: String },
}

/// Reads a document by its `format`, or by the extension of its source. Blocks: a large page takes seconds.
pub(crate) fn extract(document: &Document) -> Result<Extracted, FormatError> {
    if document.content.len() > MOST_BYTES {
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
mod tests {
    use super::*;

    fn document(id: &str, content: impl Into<Vec<u8>>) -> Document {
        Document {
            id: id.into(),
            content: content.into(),
            ..Document::default()
        }
    }

    #[test]
    fn the_extension_decides_unless_the_format_is_given() {
        for (source, format) in [
            ("notes/a.MD", DocumentFormat::Markdown),
            ("https://example.org/page.html?x=1.txt#top", DocumentFormat::Html),
            ("C:\\docs\\b.htm", DocumentFormat::Html),
            ("c.txt", DocumentFormat::PlainText),
            ("README", DocumentFormat::PlainText),
            ("v1.md/README", DocumentFormat::PlainText),
        ] {
            assert_eq!(by_extension(source), format, "{source}");
        }
        let mut page = document("a.txt", "<p>one</p>");
        assert_eq!(extract(&page).unwrap().text, "<p>one</p>");
        page.set_format(DocumentFormat::Html);
        assert_eq!(extract(&page).unwrap().text, "one");
        page.set_format(DocumentFormat::Unspecified);
        page.source = "b.html".into();
        assert_eq!(extract(&page).unwrap().text, "one");
    }

    #[test]
    fn what_has_no_text_is_refused() {
        assert_eq!(
            extract(&document("a", "")).unwrap_err(),
            FormatError::Empty { after: "" }
        );
        assert_eq!(
            extract(&document("a", " \n\t ")).unwrap_err(),
            FormatError::Empty { after: "" }
        );
        let only_script = extract(&document("a.html", "<script>let a = 1;</script>")).unwrap_err();
        assert_eq!(
            only_script.to_string(),
            "it has no text outside of its markup: there is nothing to find in it"
        );
    }

    #[test]
    fn the_size_limit_is_inclusive() {
        let text = "word ".repeat(MOST_BYTES / 5 + 1);
        assert!(extract(&document("a", &text.as_bytes()[..MOST_BYTES])).is_ok());
        let error = extract(&document("a", &text.as_bytes()[..MOST_BYTES + 1])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "it is larger than 32 MiB (33 MiB): split it into several documents"
        );
    }
}

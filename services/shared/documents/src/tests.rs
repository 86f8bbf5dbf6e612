use std::time::Instant;

use super::*;
use crate::fixtures::{docx, opendocument, package, pptx, xlsx};
use emend_testkit::pdf::{pdf, pdf_file, pdf_of};

mod hostile;
mod mutations;

fn extract(name: &str, format: Option<Format>, bytes: &[u8]) -> Result<Extracted, DocumentError> {
    super::extract(name, format, bytes, &|| false)
}

fn error(name: &str, bytes: &[u8]) -> String {
    extract(name, None, bytes).unwrap_err().to_string()
}

#[test]
fn a_document_is_read_as_what_it_is_whatever_its_extension_says() {
    let text = extract("notes.txt", None, &pdf(&["Tides"])).unwrap().text;
    assert_eq!(text, "# Page 1\n\nTides");
    let workbook = xlsx(
        "S",
        r#"<row r="1"><c r="A1" t="inlineStr"><is><t>Tides</t></is></c></row>"#,
    );
    assert_eq!(extract("x.docx", None, &workbook).unwrap().text, "# S\n\n- Tides");
}

#[test]
fn a_format_that_is_named_and_is_not_the_content_is_refused() {
    let refused = extract("a", Some(Format::Docx), &pdf(&["Tides"])).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "it is not DOCX as its format or extension says: it is PDF"
    );
    assert_eq!(
        error("a.pdf", b"just words"),
        "it is not PDF as its format or extension says: it is text"
    );
    assert!(error("a.docx", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").ends_with("it is a PNG file"));
}

#[test]
fn what_is_no_text_is_named() {
    for (bytes, kind) in [
        (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], "a PNG file"),
        (&b"some\0thing"[..], "a binary file"),
        (&b"{\\rtf1 words}"[..], "an RTF file"),
        (&package(&[("a.txt", b"words")])[..], "a ZIP file"),
    ] {
        let error = error("a", bytes);
        assert!(
            error.starts_with(&format!("it is {kind}, which is not read")),
            "{error}"
        );
    }
    // The signature of a bitmap is BM, that of an archive MZ.
    for text in ["BM is short for benchmark", "MZ was his monogram"] {
        assert_eq!(extract("a", None, text.as_bytes()).unwrap().text, text);
    }
}

#[test]
fn what_has_no_text_is_refused() {
    for (name, bytes) in [
        ("a", &b""[..]),
        ("a", b" \n\t "),
        ("a.md", b"\n"),
        ("a.csv", b",,\n,,\n"),
    ] {
        let refused = extract(name, None, bytes).unwrap_err();
        assert_eq!(refused, DocumentError::Empty { after: "" }, "{name}");
    }
    assert_eq!(
        error("a.html", b"<script>let a = 1;</script>"),
        "it has no text outside of its markup: there is nothing to find in it"
    );
    assert_eq!(
        error("a.pdf", &pdf_of(&["0 0 m 10 10 l S".to_owned()])),
        "its 1 pages hold pictures and no text: run text recognition (OCR) over it first"
    );
}

#[test]
fn the_size_limit_is_inclusive() {
    let text = "word ".repeat(MAX_DOCUMENT_BYTES / 5 + 1);
    assert!(extract("a", None, &text.as_bytes()[..MAX_DOCUMENT_BYTES]).is_ok());
    assert_eq!(
        error("a", &text.as_bytes()[..MAX_DOCUMENT_BYTES + 1]),
        "it is larger than 32 MiB (33 MiB): split it into several documents"
    );
}

#[test]
fn the_file_names_a_document_that_does_not() {
    for (name, bytes, title) in [
        ("/d/Price list.csv", b"a,b\n1,2\n".to_vec(), Some("Price list")),
        (
            "minutes.docx",
            docx("<w:p><w:r><w:t>words</w:t></w:r></w:p>"),
            Some("minutes"),
        ),
        ("https://example.org/x/notes.md?v=1", b"words".to_vec(), Some("notes")),
        ("headed.md", b"# Tides\n".to_vec(), None),
        ("plain.txt", b"words".to_vec(), None),
        ("m.odt", opendocument("text", "<text:p>words</text:p>"), Some("m")),
        ("deck.pptx", pptx(&[("Tides", "spring")]), Some("Tides")),
    ] {
        assert_eq!(extract(name, None, &bytes).unwrap().title.as_deref(), title, "{name}");
    }
}

#[test]
fn time_is_looked_at() {
    let over = Bounds::until(Instant::now(), &|| false);
    let seconds = MAX_TIME.as_secs();
    let rows = "a,b\n".repeat(10);
    let chapters = opendocument("text", "<text:p>words</text:p>");
    for (format, bytes) in [
        (Format::Csv, rows.as_bytes()),
        (Format::Pdf, &pdf(&["one", "two"])),
        (Format::Odt, &chapters),
        (Format::Docx, &docx("<w:p/>")),
        (Format::Email, b"Subject: a\n\nbody"),
    ] {
        let outcome = read("a", format, bytes, over);
        assert_eq!(outcome, Err(DocumentError::TooSlow { seconds }), "{format}");
    }
}

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
    let text = "word ".repeat(MAX_DOCUMENT_BYTES / 5 + 1);
    assert!(extract(&document("a", &text.as_bytes()[..MAX_DOCUMENT_BYTES])).is_ok());
    let error = extract(&document("a", &text.as_bytes()[..MAX_DOCUMENT_BYTES + 1])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "it is larger than 32 MiB (33 MiB): split it into several documents"
    );
}

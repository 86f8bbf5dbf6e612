//! Files that were made to harm whoever reads them: each is refused, or read, in little time.

use super::*;

#[test]
fn packages_that_unpack_to_far_more_are_refused() {
    let bomb = vec![b' '; MAX_UNPACKED_BYTES / 4 + 1];
    let media = package(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("word/media/1.bin", &bomb),
        ("word/media/2.bin", &bomb),
        ("word/media/3.bin", &bomb),
        ("word/media/4.bin", &bomb),
    ]);
    let limit = MAX_UNPACKED_BYTES;
    let refused = extract("a.docx", None, &media).unwrap_err();
    assert_eq!(refused, DocumentError::Unpacked { limit });

    let bomb = vec![b' '; MAX_MARKUP_BYTES + 1];
    let limit = MAX_MARKUP_BYTES;
    let book = b"application/epub+zip";
    for bytes in [
        package(&[("[Content_Types].xml", b"<Types/>"), ("xl/workbook.xml", &bomb)]),
        package(&[
            ("mimetype", b"application/vnd.oasis.opendocument.text"),
            ("content.xml", &bomb),
        ]),
        package(&[("mimetype", book), ("one.xhtml", &bomb)]),
    ] {
        let refused = extract("a", None, &bytes).unwrap_err();
        assert_eq!(refused, DocumentError::Unpacked { limit });
    }
}

#[test]
fn packages_of_too_many_parts_are_refused() {
    let names: Vec<String> = (0..=MAX_PARTS).map(|number| format!("word/{number}")).collect();
    let mut parts: Vec<(&str, &[u8])> = vec![("[Content_Types].xml", b"<Types/>")];
    parts.extend(names.iter().map(|name| (name.as_str(), &b""[..])));
    assert!(error("a.docx", &package(&parts)).contains("more than 10000 parts"));
}

#[test]
fn deep_markup_is_refused() {
    let deep = |open: &str, close: &str| format!("{}words{}", open.repeat(100_000), close.repeat(100_000));
    let limit = MAX_DEPTH;
    for (name, bytes) in [
        ("a.docx", docx(&deep("<w:tbl>", "</w:tbl>"))),
        ("a.xlsx", xlsx("S", &deep("<row>", "</row>"))),
        ("a.odt", opendocument("text", &deep("<text:list>", "</text:list>"))),
    ] {
        assert_eq!(
            extract(name, None, &bytes).unwrap_err(),
            DocumentError::TooDeep { limit },
            "{name}"
        );
    }
    let json = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(
        extract("a.json", None, json.as_bytes()).unwrap_err(),
        DocumentError::TooDeep { limit }
    );
    let mut nested = String::new();
    for number in 0..2000 {
        nested.push_str(&format!(
            "Content-Type: multipart/mixed; boundary=b{number}\n\n--b{number}\n"
        ));
    }
    let mail = format!("Subject: deep\n{nested}\nwords");
    assert!(extract("a.eml", None, mail.as_bytes()).is_ok());
}

#[test]
fn entities_that_a_document_declares_are_not_expanded() {
    let mut declared = String::from("<!DOCTYPE x [<!ENTITY a \"words words\">");
    for (one, two) in "abcdefghi".chars().zip("bcdefghij".chars()) {
        let references = format!("&{one};").repeat(20);
        declared.push_str(&format!("<!ENTITY {two} \"{references}\">"));
    }
    let laughs = format!("{declared}]><x>&j;</x>");
    for bytes in [
        package(&[
            ("[Content_Types].xml", b"<Types/>"),
            ("word/document.xml", laughs.as_bytes()),
        ]),
        package(&[
            ("mimetype", b"application/vnd.oasis.opendocument.text"),
            ("content.xml", laughs.as_bytes()),
        ]),
        package(&[
            ("mimetype", b"application/epub+zip"),
            ("META-INF/container.xml", laughs.as_bytes()),
        ]),
    ] {
        assert!(error("a", &bytes).ends_with("its markup declares entities"));
    }
    // As text it is what it is.
    assert_eq!(extract("a.xml", None, laughs.as_bytes()).unwrap().text, laughs);
}

#[test]
fn a_truncated_file_is_an_error_or_what_is_left_of_it() {
    let pages = pdf(&["Tides rise twice a day", "Ferries leave at seven"]);
    let word = docx("<w:p><w:r><w:t>Tides</w:t></w:r></w:p>");
    let text = opendocument("text", "<text:p>Tides</text:p>");
    for whole in [pages, word, text] {
        for cut in [whole.len() / 4, whole.len() / 2, whole.len() * 3 / 4, whole.len() - 10] {
            // No panic, no abort.
            let outcome = extract("a", None, &whole[..cut]);
            if let Ok(read) = outcome {
                assert!(
                    read.text.contains("Tides") || read.text.contains("Ferries"),
                    "{}",
                    read.text
                );
            }
        }
    }
}

#[test]
fn a_pdf_that_refers_to_itself_ends() {
    let page = |kids: &str| {
        pdf_file(&[
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            format!("<< /Type /Pages /Kids [{kids}] /Count 2 /Parent 2 0 R >>"),
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /XObject << /X 4 0 R >> >> /Contents 5 0 R >>"
                .to_owned(),
            "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 4 0 R >> >> /Length 5 >>\nstream\n/X Do\nendstream"
                .to_owned(),
            "<< /Length 5 >>\nstream\n/X Do\nendstream".to_owned(),
        ])
    };
    for kids in ["2 0 R", "3 0 R", "3 0 R 2 0 R 3 0 R"] {
        assert!(extract("a.pdf", None, &page(kids)).is_err(), "{kids}");
    }
    let own_length = pdf_file(&["<< /Type /Catalog /Pages 1 0 R /Kids [1 0 R] /Length 1 0 R >>".to_owned()]);
    assert!(extract("a.pdf", None, &own_length).is_err());
}

#[test]
fn tables_that_are_too_wide_are_refused() {
    let limit = MAX_COLUMNS;
    let what = "columns";
    let mut cells = String::new();
    for number in 0..1_000_000 {
        cells.push_str(&format!("<c><v>{number}</v></c>"));
    }
    let sheet = xlsx("S", &format!("<row r=\"1\">{cells}</row>"));
    let refused = extract("a.xlsx", None, &sheet).unwrap_err();
    assert_eq!(refused, DocumentError::TooMany { what, limit });
    let far = xlsx(
        "S",
        r#"<row r="1"><c r="A1"><v>1</v></c><c r="ZZZZZZ1"><v>1</v></c></row>"#,
    );
    assert!(
        extract("a.xlsx", None, &far)
            .is_err_and(|error| matches!(error, DocumentError::TooMany { .. } | DocumentError::Broken { .. }))
            || extract("a.xlsx", None, &far).is_ok_and(|read| read.text.len() < 10_000)
    );

    let row = "<table:table-row table:number-rows-repeated=\"4000000000\"><table:table-cell \
               table:number-columns-repeated=\"4000000000\"><text:p>1</text:p></table:table-cell></table:table-row>";
    let sheet = opendocument(
        "spreadsheet",
        &format!("<table:table table:name=\"S\">{row}</table:table>"),
    );
    let read = extract("a.ods", None, &sheet);
    assert!(read.is_ok_and(|read| read.text.len() < 32 << 20));
}

#[test]
fn cells_that_stand_for_many_are_counted_before_they_are_made() {
    let limit = MAX_UNPACKED_BYTES;
    let cell = |columns: usize, text: &str| {
        format!(
            "<table:table-cell table:number-columns-repeated=\"{columns}\"><text:p>{text}</text:p></table:table-cell>"
        )
    };
    let wide = cell(1000, "1").repeat(16);
    let rows = format!("<table:table-row table:number-rows-repeated=\"1000\">{wide}</table:table-row>");
    let long = format!(
        "<table:table-row>{}</table:table-row>",
        cell(1000, &"1".repeat(300_000))
    );
    for row in [rows, long] {
        let sheet = opendocument(
            "spreadsheet",
            &format!("<table:table table:name=\"S\">{row}</table:table>"),
        );
        let refused = extract("a.ods", None, &sheet).unwrap_err();
        assert_eq!(refused, DocumentError::Unpacked { limit });
    }
}

#[test]
fn lines_of_settings_are_bounded() {
    let text = "a\n".repeat(MAX_ROWS + 1);
    assert_eq!(extract("a.yaml", None, text.as_bytes()).unwrap().text, text);
}

#[test]
fn one_line_of_thirty_mebibytes_is_bounded() {
    let long = "a,".repeat(15 << 20);
    let refused = extract("a.csv", None, long.as_bytes()).unwrap_err();
    assert_eq!(
        refused,
        DocumentError::TooMany {
            what: "columns",
            limit: MAX_COLUMNS
        }
    );
    let word = "a".repeat(30 << 20);
    assert_eq!(extract("a.csv", None, word.as_bytes()).unwrap().text, word);
    assert_eq!(extract("a.json", None, word.as_bytes()).unwrap().text, word);
    let mail = format!("Subject: {word}\n\nwords");
    assert!(extract("a.eml", None, mail.as_bytes()).is_ok());
}

use super::*;
use crate::fixtures::{docx, pptx, xlsx};

fn read(format: Format, bytes: &[u8]) -> Extracted {
    extract(format, bytes, Bounds::new(&|| false)).unwrap()
}

#[test]
fn a_word_document_becomes_headings_text_and_tables() {
    let cell = |properties: &str, text: &str| {
        format!("<w:tc><w:tcPr>{properties}</w:tcPr><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>")
    };
    let merged = |value: &str| format!("<w:vMerge{value}/>");
    let document = docx(&format!(
        r#"<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Leave</w:t></w:r></w:p>
        <w:p><w:r><w:rPr><w:b/></w:rPr><w:t>29</w:t></w:r><w:r><w:t xml:space="preserve"> days, </w:t></w:r><w:del><w:r><w:delText>30</w:delText></w:r></w:del><w:r><w:t>paid.</w:t></w:r></w:p>
        <w:tbl><w:tr>{}{}</w:tr><w:tr>{}{}</w:tr><w:tr>{}{}</w:tr></w:tbl>"#,
        cell("", "Site"),
        cell("", "Team"),
        cell(&merged(" w:val=\"restart\""), "Osaka"),
        cell("", "Service"),
        cell(&merged(""), ""),
        cell("", "Sales"),
    ));
    assert_eq!(
        read(Format::Docx, &document).text,
        "# Leave\n\n29 days, paid.\n\n| Site | Team |\n| --- | --- |\n| Osaka | Service |\n| Osaka | Sales |"
    );
}

#[test]
fn a_workbook_becomes_its_sheets_with_numbers_as_they_were_typed() {
    let text = |place: &str, text: &str| format!(r#"<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>"#);
    let book = xlsx(
        "Prices",
        &format!(
            r#"<row r="1">{}{}</row><row r="3">{}<c r="B3"><v>64.90000000000001</v></c></row>"#,
            text("A1", "Article"),
            text("B1", "Price"),
            text("A3", "Formazin")
        ),
    );
    assert_eq!(
        read(Format::Xlsx, &book).text,
        "# Prices\n\n| Article | Price |\n| --- | --- |\n| Formazin | 64.9 |"
    );
    for (value, tidy) in [
        ("64.90000000000001", "64.9"),
        ("0.30000000000000004", "0.3"),
        ("1234567.89", "1234567.89"),
        ("3.14159265358979", "3.14159265358979"),
        ("12345678901234567890", "12345678901234567890"),
        ("words.of.some.length", "words.of.some.length"),
    ] {
        assert_eq!(tidy_number(value.to_owned()), tidy);
    }
}

#[test]
fn a_presentation_becomes_its_slides() {
    let deck = read(Format::Pptx, &pptx(&[("Goals", "grow"), ("Thanks", "all")]));
    assert_eq!(deck.text, "# Slide 1: Goals\n\ngrow\n\n# Slide 2: Thanks\n\nall");
    assert_eq!(deck.title.as_deref(), Some("Goals"));
    let starts: Vec<_> = deck.pages.iter().map(|page| (page.number, page.start)).collect();
    assert_eq!(starts, [(1, 0), (2, 24)]);
}

#[test]
fn what_is_no_office_document_is_refused() {
    let refused = extract(Format::Docx, b"PK\x03\x04 rubbish", Bounds::new(&|| false)).unwrap_err();
    assert!(
        refused.to_string().starts_with("it cannot be read as DOCX"),
        "{refused}"
    );
    let mut old = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1".to_vec();
    old.extend([0; 600]);
    let refused = extract(Format::Doc, &old, Bounds::new(&|| false)).unwrap_err();
    assert!(refused.to_string().starts_with("it cannot be read as DOC"), "{refused}");
}

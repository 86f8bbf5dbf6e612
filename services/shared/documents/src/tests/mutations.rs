//! Documents of every format with damage at random: each is read or refused, and no text is far longer than its document.

use proptest::prelude::*;

use super::*;
use crate::fixtures::package;

/// Most bytes of text for a byte of a small document: repeated cells, columns named in every row, marks.
const MOST_TIMES: usize = 2000;

fn check(name: &str, bytes: &[u8]) -> Result<(), TestCaseError> {
    // A panic would be an error that says so.
    match extract(name, None, bytes) {
        Ok(read) => {
            let most = MOST_TIMES * (bytes.len() + 100);
            prop_assert!(read.text.len() <= most, "{} bytes of {}", read.text.len(), bytes.len());
            let pages = read.pages.iter().all(|page| read.text.is_char_boundary(page.start));
            prop_assert!(pages, "{:?}", read.pages);
        }
        Err(error) => prop_assert!(!error.to_string().contains("broke off"), "{error}"),
    }
    Ok(())
}

/// Bytes of `whole` with a few of them changed, and some cut off or doubled.
fn damaged(whole: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let length = whole.len();
    let changes = proptest::collection::vec((0..length, any::<u8>()), 0..8);
    (changes, 0..length, 0..length, 0..3_u8).prop_map(move |(changes, from, to, kind)| {
        let mut bytes = whole.clone();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        let (from, to) = (from.min(to), from.max(to));
        match kind {
            0 => bytes,
            1 => [&bytes[..from], &bytes[to..]].concat(),
            _ => [&bytes[..to], &bytes[from..]].concat(),
        }
    })
}

/// Markup of these elements in any order, ended or not.
fn soup(elements: &'static [&'static str]) -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => proptest::sample::select(elements).prop_map(|element| format!("<{element}>")),
        4 => proptest::sample::select(elements).prop_map(|element| format!("</{}>", element.split(' ').next().unwrap())),
        2 => proptest::sample::select(elements).prop_map(|element| format!("<{element}/>")),
        2 => "[a-z ]{0,6}",
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

const WORD: &[&str] = &[
    "w:p",
    "w:r",
    "w:t",
    "w:tbl",
    "w:tr",
    "w:tc",
    "w:tcPr",
    "w:gridSpan w:val=\"70000\"",
    "w:vMerge",
    "w:pPr",
    "w:pStyle w:val=\"Heading1\"",
    "w:hyperlink r:id=\"r9\"",
    "w:br",
    "w:del",
    "w:numPr",
    "w:ilvl w:val=\"99\"",
];
const SHEET: &[&str] = &[
    "row r=\"1\"",
    "row r=\"1048577\"",
    "c r=\"A1\" t=\"inlineStr\"",
    "c r=\"XFE9\"",
    "c t=\"s\"",
    "is",
    "t",
    "v",
    "f",
];
const OPEN: &[&str] = &[
    "text:p",
    "text:h text:outline-level=\"99\"",
    "text:list",
    "text:list-item",
    "text:a xlink:href=\"x\"",
    "text:s text:c=\"9999\"",
    "table:table",
    "table:table-row table:number-rows-repeated=\"999999\"",
    "table:table-cell",
    "table:table-cell table:number-columns-repeated=\"99999\"",
    "draw:page",
    "draw:frame",
    "text:note",
    "text:tab",
];
const HTML: &[&str] = &[
    "p",
    "b",
    "table",
    "td",
    "th",
    "li",
    "ul",
    "pre",
    "code",
    "a href=\"x\"",
    "blockquote",
    "svg",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn markup_of_packages(word in soup(WORD), sheet in soup(SHEET), open in soup(OPEN), page in soup(HTML)) {
        check("a.docx", &docx(&word))?;
        check("a.xlsx", &xlsx("S", &sheet))?;
        for kind in ["text", "spreadsheet", "presentation"] {
            check("a.odt", &opendocument(kind, &open))?;
        }
        let root = r#"<package><manifest><item id="a" href="a.xhtml"/></manifest><spine><itemref idref="a"/></spine></package>"#;
        check("a.epub", &package(&[
            ("mimetype", b"application/epub+zip"),
            ("META-INF/container.xml", br#"<container><rootfile full-path="root.opf"/></container>"#),
            ("root.opf", root.as_bytes()),
            ("a.xhtml", page.as_bytes()),
        ]))?;
        check("a.html", page.as_bytes())?;
    }

    #[test]
    fn bytes_of_packages(bytes in damaged(docx("<w:p><w:r><w:t>Tides</w:t></w:r></w:p>")), slides in damaged(pptx(&[("Tides", "spring")]))) {
        check("a.docx", &bytes)?;
        check("a.pptx", &slides)?;
    }

    #[test]
    fn bytes_of_a_pdf(bytes in damaged(pdf(&["Tides rise twice a day", "Ferries leave at seven"]))) {
        check("a.pdf", &bytes)?;
    }

    #[test]
    fn bytes_of_a_message(bytes in damaged(b"Subject: Tides\nFrom: A <a@b.c>\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: base64\n\nPHA+VGlkZXM=\n--b--\n".to_vec())) {
        check("a.eml", &bytes)?;
    }

    #[test]
    fn any_text(text in "[\\[\\]{}\",:;|#=\\-a-z0-9 \\n\\t]{0,800}", wide in "\\PC{0,80}") {
        for name in ["a.csv", "a.json", "a.yaml", "a.toml", "a.md", "a.eml", "a.txt", "a.html"] {
            check(name, text.as_bytes())?;
            check(name, wide.as_bytes())?;
        }
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for name in ["a.pdf", "a.html", "a.txt", "a.doc", "a.zip", "a.csv"] {
            check(name, &bytes)?;
        }
    }
}

//! Documents of every format with damage at random: each is read or refused, and no text is far longer than its document.

use emend_fuzz::{damaged, fuzz};
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

/// What nothing is put between.
const NOTHING: [&str; 0] = [];

#[test]
fn fuzz_markup_of_packages() {
    let parts = (soup(WORD), soup(SHEET), soup(OPEN), soup(HTML));
    fuzz("markup of packages", parts, |(word, sheet, open, page)| {
        check("a.docx", &docx(&word))?;
        check("a.xlsx", &xlsx("S", &sheet))?;
        for kind in ["text", "spreadsheet", "presentation"] {
            check("a.odt", &opendocument(kind, &open))?;
        }
        let root = r#"<package><manifest><item id="a" href="a.xhtml"/></manifest><spine><itemref idref="a"/></spine></package>"#;
        let epub = package(&[
            ("mimetype", b"application/epub+zip"),
            (
                "META-INF/container.xml",
                br#"<container><rootfile full-path="root.opf"/></container>"#,
            ),
            ("root.opf", root.as_bytes()),
            ("a.xhtml", page.as_bytes()),
        ]);
        check("a.epub", &epub)?;
        check("a.html", page.as_bytes())
    });
}

#[test]
fn fuzz_bytes_of_packages() {
    let word = damaged([docx("<w:p><w:r><w:t>Tides</w:t></w:r></w:p>")], NOTHING);
    let slides = damaged([pptx(&[("Tides", "spring")])], NOTHING);
    fuzz("bytes of packages", (word, slides), |(word, slides)| {
        check("a.docx", &word)?;
        check("a.pptx", &slides)
    });
}

#[test]
fn fuzz_bytes_of_a_pdf() {
    let words = [
        "[",
        "<<",
        "(",
        "1 0 R ",
        "stream\n",
        "endstream",
        "endobj\n",
        "q ",
        "BT ",
        "/Kids ",
        "99999999 ",
    ];
    let bytes = damaged([pdf(&["Tides rise twice a day", "Ferries leave at seven"])], words);
    fuzz("bytes of a PDF", bytes, |bytes| check("a.pdf", &bytes));
}

#[test]
fn fuzz_bytes_of_a_message() {
    const MESSAGE: &str = "Subject: Tides\nFrom: A <a@b.c>\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n\
        --b\nContent-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: base64\n\nPHA+VGlkZXM=\n--b--\n";
    let words = [
        "--b\n",
        "--b--\n",
        "\n\n",
        "Content-Type: multipart/mixed; boundary=b\n",
        "=?utf-8?b?4pyT?=",
        "(",
        "\0",
    ];
    fuzz("bytes of a message", damaged([MESSAGE], words), |bytes| {
        check("a.eml", &bytes)
    });
}

#[test]
fn fuzz_markdown() {
    const PAGES: [&str; 2] = [
        "# Tides\n\nThey *rise* **twice** a [day](http://a.b \"c\").\n\n- one\n  1. two\n\n> quoted\n\n```rust\nlet a = 1;\n```\n\n\
         | Port | High |\n|---|---:|\n| Torvik | 7:10 |\n\n---\n",
        "Term\n: what it is\n\n<b>html</b> &amp; `code` ~~gone~~ ![picture](x.png) [^1]\n\n[^1]: a note\n\n    indented\n\nSetext\n===\n",
    ];
    let words = [
        "[", "![", "](", "*", "**", "_", "`", "```", "~~~", "> ", "- ", "1. ", "| ", "|-", "\n", "\n\n", "    ", "# ",
        "<b>", "<!--", "&", "\\", "[^1]", ": ", "\0", "\u{feff}", "\u{2028}",
    ];
    fuzz("Markdown", damaged(PAGES, words), |bytes| check("a.md", &bytes));
}

#[test]
fn fuzz_text_of_every_format() {
    let text = ("[\\[\\]{}\",:;|#=\\-a-z0-9 \\n\\t]{0,800}", "\\PC{0,80}");
    fuzz("text of every format", text, |(text, wide)| {
        for name in [
            "a.csv", "a.json", "a.yaml", "a.toml", "a.md", "a.eml", "a.txt", "a.html",
        ] {
            check(name, text.as_bytes())?;
            check(name, wide.as_bytes())?;
        }
        Ok(())
    });
}

#[test]
fn fuzz_any_bytes() {
    fuzz("any bytes", proptest::collection::vec(any::<u8>(), 0..400), |bytes| {
        for name in ["a.pdf", "a.html", "a.txt", "a.doc", "a.zip", "a.csv"] {
            check(name, &bytes)?;
        }
        Ok(())
    });
}

//! PDFs: what is cited of them is cited with its page.

use std::fs;

use emend_testkit::pdf::pdf_of;

use super::{Place, stderr, stdout};

/// A PDF of these pages, each of some lines in small letters.
pub(crate) fn pdf(pages: &[&[&str]]) -> Vec<u8> {
    let contents = pages.iter().map(|lines| {
        let lines: String = lines.iter().map(|line| format!("({line}) Tj 0 -8 Td ")).collect();
        format!("BT /F1 6 Tf 72 760 Td {lines}ET")
    });
    pdf_of(&contents.collect::<Vec<_>>())
}

#[test]
fn a_citation_of_a_pdf_says_the_page() {
    for filler in [0, 70] {
        let place = Place::new();
        let more: Vec<String> = (0..filler)
            .map(|line| format!("Rule {line} of the harbour is about boats, ropes and lamps."))
            .collect();
        let page = |line: &'static str| {
            let lines = std::iter::once(line).chain(more.iter().map(String::as_str));
            lines.collect::<Vec<_>>()
        };
        let pages = [
            page("The lighthouse is painted red every spring."),
            page("The ferry to the island leaves at seven in the morning."),
            page("Bread is baked by the keeper on Sundays."),
        ];
        let pages: Vec<&[&str]> = pages.iter().map(Vec::as_slice).collect();
        fs::write(place.docs.path().join("harbour.pdf"), pdf(&pages)).unwrap();
        let output = place.ask(&["--", "When does the ferry to the island leave?"]);
        let (out, err) = (stdout(&output), stderr(&output));
        assert!(out.contains("leaves at seven"), "{filler}: {out}{err}");
        let cited = out.lines().find(|line| line.contains("harbour.pdf"));
        assert!(
            cited.is_some_and(|line| line.contains(", page 2")),
            "{filler}: {out}{err}"
        );
    }
}

//! PDFs: what is cited of them is cited with its page.

use std::fs;

use super::{Place, stderr, stdout};

/// A PDF of these pages, each some lines.
pub(crate) fn pdf(pages: &[&[&str]]) -> Vec<u8> {
    let kids: Vec<String> = (0..pages.len()).map(|index| format!("{} 0 R", 4 + 2 * index)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), pages.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    for (index, lines) in pages.iter().enumerate() {
        let lines: String = lines.iter().map(|line| format!("({line}) Tj 0 -8 Td ")).collect();
        let content = format!("BT /F1 6 Tf 72 760 Td {lines}ET");
        let page =
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents";
        objects.push(format!("{page} {} 0 R >>", 5 + 2 * index));
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    let objects = objects.iter().enumerate();
    let body: String = objects
        .map(|(index, object)| format!("{} 0 obj\n{object}\nendobj\n", index + 1))
        .collect();
    let size = 4 + 2 * pages.len();
    format!("%PDF-1.4\n{body}trailer << /Size {size} /Root 1 0 R >>\n%%EOF\n").into_bytes()
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

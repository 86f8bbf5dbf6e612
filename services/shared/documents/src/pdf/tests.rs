use super::*;
use emend_testkit::pdf::pdf;

#[test]
fn a_document_is_read_by_page() {
    let read = extract(
        &pdf(&["Tides rise twice a day", "Ferries leave at seven"]),
        Bounds::new(&|| false),
    )
    .unwrap();
    assert_eq!(
        read.text,
        "# Page 1\n\nTides rise twice a day\n\n# Page 2\n\nFerries leave at seven"
    );
    let second = read.pages[1];
    assert_eq!(second.number, 2);
    assert!(read.text[second.start..].starts_with("# Page 2"));
}

#[test]
fn what_runs_along_the_pages_is_dropped() {
    let page = |number: u32, text: &str| (number, format!("Manual, page {number}\n\n{text}\n\nRev. F"));
    let mut pages = vec![page(1, "one"), page(2, "two"), page(3, "three"), (4, "four".to_owned())];
    drop_running_lines(&mut pages);
    let texts: Vec<&str> = pages.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["one", "two", "three", "four"]);
}

#[test]
fn lines_of_few_pages_stay() {
    let mut pages = vec![(1, "Same\n\none".to_owned()), (2, "Same\n\ntwo".to_owned())];
    let before = pages.clone();
    drop_running_lines(&mut pages);
    assert_eq!(pages, before);
}

#[test]
fn headings_go_below_the_page() {
    assert_eq!(
        below("# One\ntext\n```\n# code\n```\n## Two"),
        "## One\ntext\n```\n# code\n```\n### Two"
    );
}

#[test]
fn names_of_files_are_no_titles() {
    assert_eq!(own_title("  HM-200\nmanual ").as_deref(), Some("HM-200 manual"));
    for filler in ["", "untitled", "Microsoft Word - report.doc", "final.docx"] {
        assert_eq!(own_title(filler), None, "{filler}");
    }
}

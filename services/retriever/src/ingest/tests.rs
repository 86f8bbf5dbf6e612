use emend_models::embed::HashedEmbedder;

use super::*;

const SPLIT: SplitSettings = SplitSettings {
    chunk: 16,
    overlap: 0,
    section: 64,
};

fn document(id: &str, content: &str) -> Document {
    Document {
        id: id.into(),
        content: content.into(),
        ..Document::default()
    }
}

fn prepared(document: &Document) -> Result<Prepared, RetrieverError> {
    prepare(document.clone(), SPLIT, &HashedEmbedder, &|| false)
}

#[test]
fn the_title_comes_from_the_sender_then_the_page_then_the_first_heading() {
    let title = |document: &Document| prepared(document).unwrap().title;
    let mut page = document("a.html", "<title>Page</title><h1>Heading</h1><p>text");
    assert_eq!(title(&page), "Page");
    page.title = " Sent ".into();
    assert_eq!(title(&page), "Sent");
    assert_eq!(title(&document("a.html", "<h1>Heading</h1><p>text")), "Heading");
    assert_eq!(title(&document("a.md", "# Heading\n\ntext")), "Heading");
    assert_eq!(title(&document("a.txt", "# Heading\n\ntext")), "");
}

#[test]
fn a_version_or_a_chapter_among_others_names_no_document() {
    // Short parts would be one section.
    let body = "The crane was made safer and faster than it had been. ".repeat(200);
    let title = |id: &str, headings: [&str; 2]| {
        let text = headings.map(|heading| format!("{heading}\n\n{body}")).join("\n\n");
        prepared(&document(id, &text)).unwrap().title
    };
    let versions = ["# 1.2.0 (May 3rd)", "# 1.1.9 (April 2nd)"];
    assert_eq!(title("crane-1.2.0/CHANGELOG.md", versions), "CHANGELOG");
    assert_eq!(title("book.md", ["# Chapter 1: Wood", "# Chapter 2: Tar"]), "book");
    assert_eq!(title("log.md", ["# Changelog", "# 1.1.9"]), "Changelog");
    for second in ["# 1. Budget", "## Budget"] {
        assert_eq!(title("m.md", ["# Minutes of 4 May", second]), "Minutes of 4 May");
    }
}

#[test]
fn a_chunk_is_embedded_with_its_title_and_headings() {
    let text = format!(
        "# Harbour\n\nWelcome to the harbour.\n\n## Opening hours\n\n{}",
        "The office is open from eight to four. ".repeat(6)
    );
    let prepared = prepared(&document("a.md", &text)).unwrap();
    let last = prepared.chunks.last().unwrap();
    assert!(
        last.text.starts_with("Harbour › Opening hours\n\nThe office"),
        "{:?}",
        last.text
    );
    let first = prepared.chunks.first().unwrap();
    assert!(first.text.starts_with("# Harbour"), "{:?}", first.text);
    assert_eq!(
        with_context(&"long ".repeat(100), &[], "chunk").chars().count(),
        MAX_CONTEXT + 7
    );
}

#[test]
fn a_section_keeps_its_headings_and_the_number_of_a_page_is_no_title() {
    let text = "The office is open from eight to four. ".repeat(12);
    let long = format!(
        "# Page 1\n\n{text}\n\n# Page 2\n\n## Opening\thours {}\n\n{text}",
        "x".repeat(300)
    );
    let prepared = prepared(&document("a.md", &long)).unwrap();
    assert_eq!(prepared.title, "");
    let hours = format!("Opening hours {}", "x".repeat(186));
    let headings: Vec<_> = prepared.sections.iter().map(|section| &section.headings[..]).collect();
    assert!(headings.len() > 2, "{headings:?}");
    assert_eq!(
        (headings[0], *headings.last().unwrap()),
        (&["Page 1".to_owned()][..], &["Page 2".to_owned(), hours][..])
    );
    let named = format!("# Page 1\n\n## Harbour\n\n{text}");
    assert_eq!(
        super::tests::prepared(&document("a.md", &named)).unwrap().title,
        "Harbour"
    );
}

#[test]
fn chunks_without_content_are_not_found_unless_there_are_no_others() {
    let links =
        "[docs]: https://docs.example/guide\n[license]: https://docs.example/license\n[code]: https://code.example/x\n";
    let text = "The ferry leaves the north pier at seven in the morning. ".repeat(4);
    let prepared = |text: &str| prepared(&document("a.md", text)).unwrap();
    let both = prepared(&format!("# Ferry\n\n{text}\n\n## Links\n\n{}", links.repeat(4)));
    assert!(both.chunks.len() > 1);
    assert!(
        both.chunks.iter().all(|chunk| chunk.text.contains("ferry")),
        "{:?}",
        both.chunks
    );
    assert!(!prepared(links).chunks.is_empty());
}

#[test]
fn every_stored_input_changes_the_fingerprint() {
    let base = document("a", "text");
    let other = |change: fn(&mut Document)| {
        let mut changed = base.clone();
        change(&mut changed);
        fingerprint(&changed, SPLIT)
    };
    let known = fingerprint(&base, SPLIT);
    assert_eq!(known, fingerprint(&base.clone(), SPLIT));
    let changed = [
        other(|d| d.content = b"text2".to_vec()),
        other(|d| d.title = "t".into()),
        other(|d| d.source = "t".into()),
        other(|d| d.format = 2),
        other(|d| drop(d.metadata.insert("a".into(), "b".into()))),
        other(|d| drop(d.metadata.insert("ab".into(), String::new()))),
        fingerprint(&base, SplitSettings { chunk: 17, ..SPLIT }),
        fingerprint(&base, SplitSettings { section: 65, ..SPLIT }),
    ];
    for (index, one) in changed.iter().enumerate() {
        assert_ne!(*one, known, "{index}");
        assert!(!changed[..index].contains(one), "{index}");
    }
}

#[test]
fn a_title_is_one_line_of_bounded_length_without_controls() {
    let mut page = document("a.txt", "words");
    page.title = "Kettles\u{1b}]0;x\u{7} ".repeat(200);
    let title = prepared(&page).unwrap().title;
    assert!(
        title.len() <= MAX_TITLE_BYTES && !title.contains(char::is_control),
        "{title:?}"
    );
    assert!(title.starts_with("Kettles]0;x Kettles"));
}

#[test]
fn preparing_stops_when_nobody_waits() {
    let text = document("a.txt", &"The ferry leaves at seven. ".repeat(10_000));
    let page = document("a.html", &"<p>The ferry leaves at seven.".repeat(10_000));
    for (document, looks) in [(&text, 1), (&text, 3), (&text, 1000), (&page, 2)] {
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let stop = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1 >= looks;
        let stopped = prepare(document.clone(), SPLIT, &HashedEmbedder, &stop).unwrap_err();
        assert!(stopped.to_string().contains("stopped"), "{stopped}");
        assert!(asked.into_inner() <= looks + 1);
    }
}

#[test]
fn a_passage_has_the_words_of_its_file_and_folder() {
    let mut readme = document("crates/base64-0.22.1/README.md", "The minimum version is 1.48.0.");
    let found = |document: &Document, query: &str| {
        let prepared = prepared(document).unwrap();
        let query = Terms::of_query(query);
        let has = |word: &u32| prepared.chunks[0].terms.indices.contains(word);
        query.indices.iter().all(has)
    };
    assert!(found(&readme, "minimum version base64 0.22"));
    assert!(!found(&readme, "base64 0.23"));
    // Where the source is said, the id names nothing.
    readme.source = "https://example.org/walkdir/msrv.html".to_owned();
    assert!(found(&readme, "walkdir msrv") && !found(&readme, "base64"));
}

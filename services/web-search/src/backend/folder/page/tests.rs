use super::*;

fn of(name: &str, content: &str) -> (Vec<Page>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    let mut errors = Vec::new();
    let format = Format::of(&path).unwrap();
    let closed = CancellationToken::new();
    let pages = read(
        &path,
        format,
        SystemTime::UNIX_EPOCH,
        &Budget::of_file(&closed),
        &mut |error| errors.push(error.to_string()),
    );
    (pages, errors)
}

#[test]
fn formats_are_detected_by_extension() {
    for (name, format) in [
        ("a.html", Some(Format::Html)),
        ("a.HTM", Some(Format::Html)),
        ("a.md", Some(Format::Markdown)),
        ("a.txt", Some(Format::Text)),
        ("a.jsonl", Some(Format::JsonLines)),
        ("a.png", None),
        ("txt", None),
    ] {
        assert_eq!(Format::of(Path::new(name)), format, "{name}");
    }
}

#[test]
fn a_page_without_a_url_has_a_file_url() {
    let (pages, _) = of("kettle manual.txt", "Fill the kettle. Switch it on.");
    let [page] = pages.as_slice() else { panic!("{pages:?}") };
    assert_eq!(page.title, "kettle manual");
    assert!(page.url.as_str().starts_with("file:///") && page.url.as_str().ends_with("/kettle%20manual.txt"));
    assert_eq!(page.domain, None);
    assert_eq!(page.saved, SystemTime::UNIX_EPOCH);
}

#[test]
fn only_http_urls_are_accepted() {
    let (pages, _) = of("a.md", "---\nurl: javascript:alert(1)\n---\nText.");
    assert_eq!(pages[0].url.scheme(), "file");
    let (pages, _) = of("a.md", "---\nurl: https://docs.example.com/a\n---\nText.");
    assert_eq!(pages[0].domain, Some(Domain::parse("docs.example.com").unwrap()));
}

#[test]
fn a_saved_page_keeps_the_date_that_it_says() {
    let (pages, _) = of("a.html", "<p>Told on <time datetime='2026-01-03'>3 January</time>.");
    assert_eq!(pages[0].metadata["published"], "2026-01-03");
    let (pages, _) = of("a.html", "<p>Told on 3 January.");
    assert!(pages[0].metadata.is_empty());
}

#[test]
fn a_bad_line_is_reported_and_the_others_are_read() {
    let lines = "{\"doc_id\": \"w1\", \"title\": \"One\", \"text\": \"First page.\", \"url\": \"https://a.example/1\"}\n\nnot json\n{\"doc_id\": 7, \"text\": \"Second page.\"}\n{\"text\": \" \"}\n";
    let (pages, errors) = of("pages.jsonl", lines);
    assert_eq!(pages.len(), 2);
    assert_eq!(
        (pages[0].url.as_str(), pages[0].title.as_str()),
        ("https://a.example/1", "One")
    );
    assert_eq!(pages[0].metadata.get("doc_id").map(String::as_str), Some("w1"));
    assert!(pages[1].url.as_str().ends_with("/pages.jsonl#7"));
    assert_eq!(errors.len(), 2);
    assert!(
        errors[0].starts_with("line 3 ") && errors[1].starts_with("line 5 "),
        "{errors:?}"
    );
}

#[test]
fn a_file_without_text_is_reported() {
    let (pages, errors) = of("a.html", "<html><script>let x = 1</script></html>");
    assert_eq!((pages.len(), errors), (0, vec!["holds no text".to_owned()]));
}

#[test]
fn a_page_that_takes_too_long_is_reported_and_reading_stops_with_the_service() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("a.html");
    std::fs::write(&page, "<p>words".repeat(10_000)).unwrap();
    let lines = folder.path().join("a.jsonl");
    std::fs::write(&lines, "{\"text\": \"words\"}\n".repeat(10_000)).unwrap();
    let closed = CancellationToken::new();
    let errors = |path: &Path, format, budget: &Budget<'_>| {
        let mut errors = Vec::new();
        read(path, format, SystemTime::UNIX_EPOCH, budget, &mut |error| {
            errors.push(error.to_string())
        });
        errors
    };
    let over = Budget {
        until: Instant::now(),
        closed: &closed,
    };
    assert_eq!(errors(&page, Format::Html, &over), ["reading it took longer than 10 s"]);
    closed.cancel();
    for (path, format) in [(&page, Format::Html), (&lines, Format::JsonLines)] {
        assert_eq!(errors(path, format, &Budget::of_file(&closed)), ["the service stops"]);
    }
}

#[test]
fn a_line_that_is_too_long_is_reported_and_the_others_are_read() {
    let long = "x".repeat(MAX_PAGE_BYTES + 1);
    let (pages, errors) = of(
        "pages.jsonl",
        &format!("{{\"text\": \"{long}\"}}\n{{\"text\": \"words\"}}\n"),
    );
    assert_eq!(pages.len(), 1);
    assert_eq!(errors, ["line 1 is not a page: it is larger than 33554432 bytes"]);
}

#[test]
fn a_title_is_one_line_of_bounded_length() {
    let title = "Kettles\u{1b}[2J\n".repeat(1000);
    let (pages, _) = of("a.html", &format!("<title>{title}</title><p>words"));
    assert!(pages[0].title.len() <= MAX_TITLE_BYTES && !pages[0].title.contains(char::is_control));
}

#[cfg(unix)]
#[test]
fn a_pipe_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("a.jsonl");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let closed = CancellationToken::new();
    let mut errors = Vec::new();
    let mut on_error = |error: PageError| errors.push(emend_core::error_chain(&error));
    read(
        &pipe,
        Format::JsonLines,
        SystemTime::UNIX_EPOCH,
        &Budget::of_file(&closed),
        &mut on_error,
    );
    assert!(errors[0].contains("not a regular file"), "{errors:?}");
}

use super::*;

fn extract(html: &str) -> Result<Extracted, DocumentError> {
    super::extract(html, Bounds::new(&|| false))
}

#[test]
fn a_page_becomes_markdown_without_its_furniture() {
    let page = "<!doctype html><html><head><title> Tide\n tables &amp; more </title><style>p { color: red }</style>\
            </head><body><nav><a href=/>Home</a></nav><h1>Tides</h1><p>High water at <b>noon</b>.</p>\
            <script>track()</script><noscript>Enable scripts</noscript><ul><li>spring</li><li>neap</li></ul>\
            <footer>All rights reserved</footer></body></html>";
    let extracted = extract(page).unwrap();
    assert_eq!(extracted.title.as_deref(), Some("Tide tables & more"));
    assert!(extracted.markdown);
    assert_eq!(
        extracted.text,
        "# Tides\n\nHigh water at **noon**.\n\n*   spring\n*   neap"
    );
}

#[test]
fn a_page_without_a_title_has_none() {
    assert_eq!(extract("<title>  </title><p>text").unwrap().title, None);
    assert_eq!(extract("<p>text").unwrap().title, None);
}

#[test]
fn anchors_without_a_text_are_dropped_and_code_stays() {
    assert_eq!(
        without_anchors("[](#cb1-1)let a; [](#cb1-2)let b;".to_owned()),
        "let a; let b;"
    );
    for kept in ["[](int a) { return a; }", "[](#no target) x", "[](#open"] {
        assert_eq!(without_anchors(kept.to_owned()), kept);
    }
}

#[test]
fn depth_is_refused_and_does_not_end_the_process() {
    let deep = |depth: usize| format!("{}text{}", "<div>".repeat(depth), "</div>".repeat(depth));
    assert_eq!(extract(&deep(400)).unwrap().text, "text");
    assert_eq!(
        extract(&deep(200_000)).unwrap_err(),
        DocumentError::Html(HtmlError::TooDeep)
    );
    // Elements that nobody closes do not nest.
    assert!(extract(&"<p>one<br>".repeat(5_000)).unwrap().text.contains("one"));
}

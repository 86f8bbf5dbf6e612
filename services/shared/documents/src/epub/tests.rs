use super::*;
use crate::fixtures::package;

#[test]
fn chapters_are_read_in_their_order_without_the_contents() {
    let root = r#"<package xmlns:dc="d"><metadata><dc:title>Of
        Tides</dc:title></metadata><manifest>
        <item id="two" href="text/ch%202.xhtml"/><item id="one" href="text/../ch1.xhtml"/>
        <item id="nav" href="nav.xhtml" properties="nav"/><item id="gone" href="gone.xhtml"/></manifest>
        <spine><itemref idref="nav"/><itemref idref="one"/><itemref idref="two"/><itemref idref="gone"/>
        <itemref idref="one"/></spine></package>"#;
    let bytes = package(&[
        ("mimetype", b"application/epub+zip"),
        (
            CONTAINER,
            br#"<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>"#,
        ),
        ("OPS/book.opf", root.as_bytes()),
        ("OPS/nav.xhtml", b"<p>Contents</p>"),
        (
            "OPS/ch1.xhtml",
            b"<html><body><h1>One</h1><pre><code><a href='#l1'></a>let a;</code></pre></body></html>",
        ),
        (
            "OPS/text/ch 2.xhtml",
            b"<html><body><h1>Two</h1><p>words</p></body></html>",
        ),
    ]);
    let book = extract(&bytes, Bounds::new(&|| false)).unwrap();
    assert_eq!(book.title.as_deref(), Some("Of Tides"));
    assert_eq!(book.text, "# One\n\n```\nlet a;\n```\n\n# Two\n\nwords");
}

#[test]
fn a_book_without_its_parts_is_refused() {
    let bytes = package(&[("mimetype", b"application/epub+zip")]);
    let refused = extract(&bytes, Bounds::new(&|| false)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "it cannot be read as EPUB: it has no part META-INF/container.xml"
    );
}

use super::*;

#[test]
fn the_extension_of_a_path_or_an_address_decides() {
    for (name, format) in [
        ("notes/a.MD", Some(Format::Markdown)),
        ("https://example.org/page.html?x=1.txt#top", Some(Format::Html)),
        ("C:\\docs\\b.htm", Some(Format::Html)),
        ("c.txt", Some(Format::PlainText)),
        ("Umsatz 2026.XLSX", Some(Format::Xlsx)),
        ("main.rs", None),
        ("README", None),
        (".csv", None),
        ("v1.md/README", None),
    ] {
        assert_eq!(Format::of_name(name), format, "{name}");
    }
    assert_eq!(stem("/a/b.c/Plan v1.2.pdf"), "Plan v1.2");
    assert_eq!(stem(".bashrc"), ".bashrc");
}

use super::*;

#[test]
fn front_matter_gives_url_and_title() {
    let found = read(
        "---\nurl: https://a.example/x\ntitle: \"Kettles: a guide\"\ntags: [a, b]\n---\n\nBoil it.\n",
        false,
    );
    let expected = Found {
        url: Some("https://a.example/x".to_owned()),
        title: "Kettles: a guide".to_owned(),
        text: "Boil it.".to_owned(),
        published: None,
    };
    assert_eq!(found, expected);
    assert_eq!(
        read("---\r\nurl: https://a.example/x\r\n---\r\nBoil it.", true).url,
        expected.url
    );
}

#[test]
fn the_first_heading_is_the_title_of_markdown_only() {
    assert_eq!(read("\n# Kettles #\n\nBoil it.", true).title, "Kettles");
    assert_eq!(read("# Kettles\n\nBoil it.", false).title, "");
    assert_eq!(read("Boil it.\n# Kettles", true).title, "");
}

#[test]
fn a_rule_is_not_front_matter() {
    for text in ["---\nBoil it.", "---\nBoil: it: now\n---\nDone.", "----\nurl: x\n---\n"] {
        let found = read(text, true);
        assert_eq!((found.url, found.text), (None, text.trim().to_owned()));
    }
}

use super::*;

#[test]
fn entries_of_several_lines_stand_apart_with_their_comments() {
    let body = "  key: value\n".repeat(30);
    let text =
        format!("# all of it\nname: x\nversion: 2\n# first\none:\n{body}# second\n# of two\ntwo:\n{body}last: y\n");
    let read = entries(&text);
    assert!(
        read.starts_with("# all of it\nname: x\nversion: 2\n\n# first\none:\n  key"),
        "{read}"
    );
    assert!(read.contains("  key: value\n\n# second\n# of two\ntwo:\n"), "{read}");
    assert!(read.ends_with("  key: value\n\nlast: y\n"), "{read}");
    let lines = |text: &str| {
        text.lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(lines(&read), lines(&text));
}

#[test]
fn tables_of_toml_are_entries_and_blank_lines_stay_single() {
    let body = "key = \"a value of some length\"\n".repeat(15);
    let text = format!("[one]\n{body}\n[[two]]\n{body}[three]\n{body}");
    let read = entries(&text);
    assert_eq!(read.matches("\n\n").count(), 2, "{read}");
    assert!(read.contains("\n\n[three]") && !read.contains("\n\n\n"), "{read}");
}

#[test]
fn a_short_text_stays_as_it_is() {
    let text = "a:\n  b: 1\nc:\n  d: 2\n";
    assert_eq!(entries(text), text);
}

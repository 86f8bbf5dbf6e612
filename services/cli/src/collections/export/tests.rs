use super::*;

fn line(id: &str, last: bool) -> String {
    format!("{{\"id\":\"{id}\",\"last\":{last}}}\n")
}

#[test]
fn an_export_goes_on_after_its_last_whole_document() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.jsonl");
    let header = Header::new("notes", "fixed");
    let first = format!("{}\n", serde_json::to_string(&header).unwrap());
    let whole = format!("{first}{}{}", line("a", true), line("b", true));
    for (more, expected) in [
        (String::new(), "b"),
        (line("c", false), "b"),
        (line("c", false) + &line("c", true), "c"),
        (line("c", true).trim_end().to_owned(), "b"),
        (line("c", false) + "{\"id\":\"c\",\"last\":tr", "b"),
    ] {
        std::fs::write(&path, format!("{whole}{more}")).unwrap();
        let (mut file, after) = continued(&path, &header).unwrap();
        assert_eq!(after, expected, "{more:?}");
        file.write_all(line("d", true).as_bytes()).unwrap();
        let now = std::fs::read_to_string(&path).unwrap();
        let kept = if expected == "c" {
            whole.clone() + &more
        } else {
            whole.clone()
        };
        assert_eq!(now, kept + &line("d", true));
    }
    // Broken off in its first line, or after it.
    for begun in [&first[..10], &first] {
        std::fs::write(&path, begun).unwrap();
        assert_eq!(continued(&path, &header).unwrap().1, "");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
    }
    // Another collection, or another file altogether, stays as it is.
    for other in [
        format!("{}\n", serde_json::to_string(&Header::new("other", "fixed")).unwrap()),
        "text\n".to_owned(),
    ] {
        std::fs::write(&path, &other).unwrap();
        assert!(continued(&path, &header).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
    }
}

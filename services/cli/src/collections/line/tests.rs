use super::*;

fn document() -> EmbeddedDocument {
    EmbeddedDocument {
        id: "a/b.md".to_owned(),
        title: "T".to_owned(),
        source: "/a/b.md".to_owned(),
        owner: "/a".to_owned(),
        metadata: [("lang".to_owned(), "ko".to_owned())].into(),
        fingerprint: (0..32).map(|byte| byte * 8).collect(),
        sections: vec![EmbeddedSection {
            start: 3,
            text: "line\nbreak \u{2028} \u{1b}[31m 東京".to_owned(),
            headings: vec!["Page 3".to_owned(), "Urlaub".to_owned()],
        }],
        passages: vec![EmbeddedPassage {
            section: 0,
            start: 3,
            end: 9,
            embedding: vec![0.1, -1e-9, f32::MIN_POSITIVE, 0.333_333_34],
            term_hashes: vec![1, u32::MAX],
            term_weights: vec![0.7, 1.234_567_9],
        }],
    }
}

#[test]
fn lines_come_back_as_they_were() {
    for last in [false, true] {
        let json = serde_json::to_string(&Line::new(document(), last)).unwrap();
        assert!(!json.contains('\n'));
        assert_eq!(Line::read(json.as_bytes()).unwrap(), (document(), last));
        assert_eq!(ends(json.as_bytes()), last.then(|| "a/b.md".to_owned()));
        // A line that was cut off ends nothing.
        assert_eq!(ends(&json.as_bytes()[..json.len() - 1]), None);
    }
    // A line from before there were headings.
    let old = br#"{"id": "a", "sections": [{"start": 0, "text": "words"}], "last": true}"#;
    assert_eq!(Line::read(old).unwrap().0.sections[0].headings, [""; 0]);
    let header = Header::new("notes", "fixed");
    let json = serde_json::to_vec(&header).unwrap();
    assert_eq!(Header::read(&json).unwrap(), header);
}

#[test]
fn what_is_no_export_is_refused() {
    for line in [
        "",
        "{}",
        "[]",
        "{\"id\": \"a\"}",
        "{\"format\": \"other\", \"version\": 1, \"collection\": \"a\", \"embedder\": \"b\"}",
    ] {
        assert!(Header::read(line.as_bytes()).is_err(), "{line}");
    }
    let newer = "{\"format\": \"emend-collection\", \"version\": 2, \"collection\": \"a\", \"embedder\": \"b\"}";
    let error = Header::read(newer.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("version 2"), "{error}");
    for line in [
        "{\"id\": \"a\", \"last\": true, \"fingerprint\": \"0g\"}",
        "{\"id\": \"a\", \"last\": true, \"fingerprint\": \"012\"}",
        "{\"id\": \"a\", \"last\": true, \"more\": 1}",
    ] {
        assert!(Line::read(line.as_bytes()).is_err(), "{line}");
    }
}

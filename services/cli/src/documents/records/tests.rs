use std::fs;

use emend_core::limits::MAX_DOCUMENT_BYTES;
use emend_fuzz::{damaged, fuzz};
use proptest::prelude::*;

use super::*;
use crate::documents::{Reading, find, summary, tests::folder};

#[test]
fn json_lines_yield_documents_and_report_bad_lines() {
    let folder = folder(&[(
            "d.jsonl",
            b"{\"doc_id\":\"a\",\"title\":\"T\",\"text\":\"x\",\"year\":1999}\n\nnonsense\n{\"text\":\"no id\"}\n{\"id\":7,\"text\":\" \"}\n",
        )]);
    let found = find(&[folder.path().to_owned()], &Reading::default()).unwrap();
    let read: Vec<_> = found.sources[0].read(&Arc::default()).collect();
    let first = read[0].as_ref().unwrap();
    assert_eq!((first.id.as_str(), first.title.as_str()), ("a", "T"));
    assert_eq!(first.metadata.get("year").map(String::as_str), Some("1999"));
    let reasons: Vec<_> = read[1..].iter().map(|r| r.clone().unwrap_err()).collect();
    assert!(reasons[0].source.ends_with(":3") && reasons[0].reason.contains("not JSON"));
    assert!(reasons[1].source.ends_with(":4") && reasons[1].reason.contains("`id`"));
    assert!(reasons[2].source.ends_with(":5") && reasons[2].reason.contains("empty"));
    assert!(found.sources[0].bytes() > 0);
}

#[test]
fn a_line_that_is_too_long_is_skipped_with_its_number_and_the_others_are_read() {
    let folder = folder(&[("d.jsonl", b"")]);
    let path = folder.path().join("d.jsonl");
    let long = "x".repeat(100);
    fs::write(
        &path,
        format!(
            "{{\"id\":\"a\",\"text\":\"x\"}}\n{{\"id\":\"b\",\"text\":\"{long}\"}}\n\n{{\"id\":\"c\",\"text\":\"x\"}}"
        ),
    )
    .unwrap();
    let read: Vec<_> = json_documents(File::open(&path).unwrap(), "d.jsonl".to_owned(), Arc::default(), 50).collect();
    let ids: Vec<_> = read.iter().flatten().map(|document| document.id.as_str()).collect();
    assert_eq!(ids, ["a", "c"]);
    let skipped = read[1].clone().unwrap_err();
    assert_eq!(
        (skipped.source.as_str(), skipped.kind),
        ("d.jsonl:2", FileKind::LongLine)
    );
    assert_eq!(summary(&[skipped]), "1 line that is too long (.jsonl)");
}

#[test]
fn a_text_above_the_limit_is_refused_with_its_line() {
    let line = format!("{{\"id\":\"a\",\"text\":\"{}\"}}", "x".repeat(MAX_DOCUMENT_BYTES + 1));
    let refused = json_document(line.as_bytes(), "d.jsonl:7", "d.jsonl", &Fields::default()).unwrap_err();
    assert!(
        refused.source == "d.jsonl:7" && refused.reason.contains("32 MiB"),
        "{refused:?}"
    );
}

#[test]
fn fuzz_json_lines() {
    const FILES: [&str; 2] = [
        "{\"id\":\"a\",\"text\":\"x\"}\n{\"doc_id\":7,\"title\":\"T\",\"text\":\"y\",\"year\":1999}\n",
        "\n{\"id\":\"b\",\"text\":\"\\u00e9\\n\"}\r\nnonsense\n{\"id\":{\"a\":[1]},\"text\":null}",
    ];
    let words = [
        "{", "[", "\"", "\\", "\n", "\r\n", "\\u", ",", ":", "1e999", "null", "\0", "\u{feff}",
    ];
    let lines = "[\\x00-\\x09\\x0b-\\x7f]{0,40}|\\{\"id\":[0-9]{1,3},\"text\":\"[a-z]{1,60}\"\\}";
    let lines = proptest::collection::vec(lines, 0..20).prop_map(|lines| lines.join("\n").into_bytes());
    let any = prop_oneof![damaged(FILES, words), lines];
    fuzz("JSON Lines", any, |bytes| {
        let folder = folder(&[("d.jsonl", &bytes)]);
        let file = File::open(folder.path().join("d.jsonl")).unwrap();
        let read = json_documents(file, "d".to_owned(), Arc::default(), 50).count();
        let lines = bytes.split(|byte| *byte == b'\n');
        // Each line with something in it is a document or an error.
        let expected = lines.filter(|line| line.len() > 50 || !line.trim_ascii().is_empty());
        prop_assert_eq!(read, expected.count());
        Ok(())
    });
}

fn reading(fields: Fields) -> Reading {
    Reading {
        fields: Arc::new(fields),
        ..Reading::default()
    }
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// What `find` and `read` make of a folder: the documents, and the reasons of what is none.
fn read(folder: &tempfile::TempDir, reading: &Reading) -> (Vec<Document>, Vec<Skipped>) {
    let found = find(&[folder.path().to_owned()], reading).unwrap();
    found.check_fields().unwrap();
    let (mut documents, mut skipped) = (Vec::new(), Vec::new());
    for read in found.sources.iter().flat_map(|source| source.read(&found.fields)) {
        match read {
            Ok(document) => documents.push(document),
            Err(reason) => skipped.push(reason),
        }
    }
    (documents, skipped)
}

#[test]
fn named_fields_make_documents_of_lines_and_rows_alike() {
    let folder = folder(&[
        (
            "a.csv",
            b"key,question,answer,team,empty\n1,\"How many\ndays?\",25,HR,\n2,Who?,,IT,\n,Why?,So,IT,\n",
        ),
        (
            "b.jsonl",
            b"{\"key\":3,\"question\":\"When?\",\"answer\":\"May\",\"team\":\"HR\",\"tags\":[1]}\n",
        ),
    ]);
    let fields = Fields {
        id: Some("key".to_owned()),
        title: Some("question".to_owned()),
        text: strings(&["question", "answer"]),
        source: None,
        metadata: strings(&["team"]),
    };
    let (documents, skipped) = read(&folder, &reading(fields));
    let told: Vec<_> = documents
        .iter()
        .map(|document| (document.id.as_str(), std::str::from_utf8(&document.content).unwrap()))
        .collect();
    assert_eq!(
        told,
        [("1", "How many\ndays?\n\n25"), ("2", "Who?"), ("3", "When?\n\nMay")]
    );
    let metadata = [("team".to_owned(), "HR".to_owned())].into();
    assert_eq!(
        (&documents[0].metadata, documents[0].title.as_str()),
        (&metadata, "How many\ndays?")
    );
    let file = folder
        .path()
        .canonicalize()
        .unwrap()
        .join("a.csv")
        .display()
        .to_string();
    assert_eq!(
        (&documents[1].owner, &documents[1].source),
        (&file, &format!("{file}#2"))
    );
    assert_eq!(skipped.len(), 1);
    assert!(
        skipped[0].source.ends_with("a.csv:5") && skipped[0].reason.contains("has no `key`"),
        "{skipped:?}"
    );
}

#[test]
fn a_table_without_named_fields_is_one_document() {
    let folder = folder(&[("a.csv", b"id,text\n1,one\n2,two\n")]);
    let (documents, _) = read(&folder, &Reading::default());
    assert_eq!(documents.len(), 1);
    assert!(documents[0].id.ends_with("a.csv") && documents[0].owner.is_empty());
    let named = Fields {
        text: strings(&["text"]),
        ..Fields::default()
    };
    let (documents, _) = read(&folder, &reading(named));
    assert_eq!(
        documents
            .iter()
            .map(|document| document.id.as_str())
            .collect::<Vec<_>>(),
        ["1", "2"]
    );
}

#[test]
fn a_field_that_no_record_has_is_an_error_that_lists_those_they_have() {
    let folder = folder(&[
        ("a.csv", b"key,body\n1,one\n"),
        (
            "b.jsonl",
            b"{\"id\":1,\"text\":\"x\",\"rare\":null}\n{\"id\":2,\"text\":\"x\",\"author\":\"Kim\"}\n",
        ),
    ]);
    let refused = |fields: Fields| {
        let found = find(&[folder.path().to_owned()], &reading(fields)).unwrap();
        found.check_fields().map_err(|error| error.to_string())
    };
    let told = refused(Fields {
        metadata: strings(&["auther"]),
        ..Fields::default()
    })
    .unwrap_err();
    assert_eq!(
        told,
        "--metadata-field: no record has a field `auther`; known are author, body, id, key, text; did you mean `author`?"
    );
    assert!(
        refused(Fields {
            id: Some("key".to_owned()),
            ..Fields::default()
        })
        .is_ok()
    );
    let many = Fields {
        text: vec!["text".to_owned(); 65],
        ..Fields::default()
    };
    assert!(refused(many).unwrap_err().contains("at most 64"));

    let prose = super::super::tests::folder(&[("a.md", b"words")]);
    let fields = Fields {
        text: strings(&["body"]),
        ..Fields::default()
    };
    let found = find(&[prose.path().to_owned()], &reading(fields)).unwrap();
    let told = found.check_fields().unwrap_err().to_string();
    assert!(
        told.contains("--text-field body") && told.contains("no file of JSON Lines or CSV"),
        "{told}"
    );
}

#[test]
fn a_record_without_a_named_field_is_reported_with_the_fields_it_has() {
    let folder = folder(&[(
        "a.jsonl",
        b"{\"id\":1,\"body\":\"x\"}\n{\"id\":2,\"text\":\"x\"}\n{\"body\":\"x\"}\n",
    )]);
    let (documents, skipped) = read(
        &folder,
        &reading(Fields {
            text: strings(&["body"]),
            ..Fields::default()
        }),
    );
    assert_eq!(documents.len(), 1);
    assert_eq!(skipped[0].reason, "document `2` has no `body`; it has id, text");
    assert_eq!(
        skipped[1].reason,
        "has no `doc_id` and no `id`; name the field with --id-field; it has body"
    );
}

use super::*;

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn names(found: &Found) -> Vec<String> {
    let name = |source: &Source| source.path.file_name().unwrap().to_string_lossy().into_owned();
    found.sources.iter().map(name).collect()
}

#[test]
fn a_folder_yields_known_formats_and_reports_other_files() {
    let folder = folder(&[
        ("a.md", b"# A"),
        ("sub/b.txt", b"b"),
        ("c.png", b"\x89PNG"),
        (".hidden.md", b"h"),
    ]);
    let found = find(&[folder.path().to_owned()]).unwrap();
    assert_eq!(names(&found), ["a.md", "b.txt"]);
    assert_eq!(found.skipped.len(), 1);
    assert!(found.skipped[0].source.ends_with("c.png"));
}

#[test]
fn a_named_file_is_read_whatever_its_extension_and_once() {
    let folder = folder(&[("notes.weird", b"text")]);
    let path = folder.path().join("notes.weird");
    let found = find(&[path.clone(), path]).unwrap();
    assert_eq!(names(&found), ["notes.weird"]);
}

#[test]
fn a_path_that_does_not_exist_is_an_error_that_names_it() {
    let error = find(&[PathBuf::from("/nowhere/at/all")]).unwrap_err();
    assert!(error.to_string().contains("/nowhere/at/all"));
}

#[test]
fn json_lines_yield_documents_and_report_bad_lines() {
    let folder = folder(&[(
            "d.jsonl",
            b"{\"doc_id\":\"a\",\"title\":\"T\",\"text\":\"x\",\"year\":1999}\n\nnonsense\n{\"text\":\"no id\"}\n{\"id\":7,\"text\":\" \"}\n",
        )]);
    let found = find(&[folder.path().to_owned()]).unwrap();
    let read: Vec<_> = found.sources[0].read().collect();
    let first = read[0].as_ref().unwrap();
    assert_eq!((first.id.as_str(), first.title.as_str()), ("a", "T"));
    assert_eq!(first.metadata.get("year").map(String::as_str), Some("1999"));
    let reasons: Vec<_> = read[1..].iter().map(|r| r.clone().unwrap_err()).collect();
    assert!(reasons[0].source.ends_with(":3") && reasons[0].reason.contains("not JSON"));
    assert!(reasons[1].source.ends_with(":4") && reasons[1].reason.contains("`id`"));
    assert!(reasons[2].source.ends_with(":5") && reasons[2].reason.contains("empty"));
    assert_eq!(found.sources[0].count().unwrap(), 5);
}

#[test]
fn an_empty_file_is_skipped_with_a_reason() {
    let folder = folder(&[("empty.txt", b"")]);
    let found = find(&[folder.path().to_owned()]).unwrap();
    let read: Vec<_> = found.sources[0].read().collect();
    assert_eq!(read[0].clone().unwrap_err().reason, "is empty");
}

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
fn a_folder_yields_what_is_read_and_reports_other_files() {
    let folder = folder(&[
        ("a.md", b"# A"),
        ("sub/b.txt", b"b"),
        ("c.png", b"\x89PNG"),
        ("d.svg", b"<svg/>"),
        ("e.pdf", b"%PDF-1.4"),
        ("Makefile", b"all:\n\ttrue\n"),
        ("main.rs", b"fn main() {}"),
        ("f.dat", b"\0\x01\x02"),
        ("nothing", b""),
        (".hidden.md", b"h"),
        (".git/config", b"[core]"),
        ("node_modules/x/index.js", b"x"),
        ("crate/Cargo.toml", b"[package]"),
        ("crate/target/out.txt", b"x"),
        ("target/plan.txt", b"a folder of the user's own"),
    ]);
    let found = find(&[folder.path().to_owned()]).unwrap();
    assert_eq!(
        names(&found),
        [
            "Makefile",
            "a.md",
            "Cargo.toml",
            "e.pdf",
            "main.rs",
            "b.txt",
            "plan.txt"
        ]
    );
    assert_eq!(summary(&found.skipped), "2 images (.png, .svg), 2 other files (.dat)");
    assert!(found.skipped[0].source.ends_with("c.png"));
}

#[test]
fn the_retriever_is_told_the_format_of_plain_text_only() {
    let folder = folder(&[
        ("LICENSE", b"words"),
        ("a.txt", b"words"),
        ("b.csv", b"a,b"),
        ("c.html", b"<p>"),
    ]);
    let found = find(&[folder.path().to_owned()]).unwrap();
    let read: Vec<_> = found
        .sources
        .iter()
        .map(|source| source.read().next().unwrap().unwrap())
        .collect();
    let told: Vec<_> = read
        .iter()
        .map(|document| (document.title.as_str(), document.format()))
        .collect();
    assert_eq!(
        told,
        [
            ("LICENSE", DocumentFormat::PlainText),
            ("a", DocumentFormat::PlainText),
            ("", DocumentFormat::Unspecified),
            ("", DocumentFormat::Unspecified),
        ]
    );
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
    let read: Vec<_> = json_documents(File::open(&path).unwrap(), "d.jsonl".to_owned(), 50).collect();
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
    let refused = json_document(line.as_bytes(), "d.jsonl:7").unwrap_err();
    assert!(
        refused.source == "d.jsonl:7" && refused.reason.contains("32 MiB"),
        "{refused:?}"
    );
}

#[cfg(unix)]
#[test]
fn links_pipes_and_devices_in_a_folder_are_reported_and_not_read() {
    let outside = folder(&[("secret.md", b"words")]);
    let folder = folder(&[("a.md", b"words")]);
    let link = |target: &Path, name: &str| std::os::unix::fs::symlink(target, folder.path().join(name)).unwrap();
    link(&outside.path().join("secret.md"), "link.md");
    link(outside.path(), "linked");
    for name in ["pipe.jsonl", "pipe.md"] {
        let made = std::process::Command::new("mkfifo")
            .arg(folder.path().join(name))
            .status();
        assert!(made.unwrap().success());
    }
    let found = find(&[folder.path().to_owned()]).unwrap();
    assert_eq!(names(&found), ["a.md"]);
    assert_eq!(
        summary(&found.skipped),
        "2 symbolic links (.md), 2 pipes and devices (.jsonl, .md)"
    );
    // Given by name it is an error, and nobody waits for it.
    for name in ["pipe.jsonl", "pipe.md"] {
        let found = find(&[folder.path().join(name)]).unwrap();
        let refused = found.sources[0].read().next().unwrap().unwrap_err();
        assert!(refused.reason.contains("not a regular file"), "{refused:?}");
        assert!(found.sources[0].count().is_err() || name == "pipe.md");
    }
    // A link that is given by name is followed.
    let named = find(&[folder.path().join("link.md")]).unwrap();
    assert!(named.sources[0].read().next().unwrap().is_ok());
}

proptest::proptest! {
    #[test]
    fn any_lines_are_read_or_skipped_each(lines in proptest::collection::vec("[\\x00-\\x09\\x0b-\\x7f]{0,40}|\\{\"id\":[0-9]{1,3},\"text\":\"[a-z]{1,60}\"\\}", 0..20)) {
        let folder = folder(&[("d.jsonl", lines.join("\n").as_bytes())]);
        let file = File::open(folder.path().join("d.jsonl")).unwrap();
        let read = json_documents(file, "d".to_owned(), 50).count();
        let expected = lines.iter().filter(|line| line.len() > 50 || !line.as_bytes().trim_ascii().is_empty()).count();
        proptest::prop_assert_eq!(read, expected);
    }
}

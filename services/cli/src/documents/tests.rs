use super::*;

pub(super) fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

pub(super) fn names(found: &Found) -> Vec<String> {
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
    let found = find(&[folder.path().to_owned()], &Reading::default()).unwrap();
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
    let found = find(&[folder.path().to_owned()], &Reading::default()).unwrap();
    let read: Vec<_> = found
        .sources
        .iter()
        .map(|source| source.read(&Arc::default()).next().unwrap().unwrap())
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
    let found = find(&[path.clone(), path], &Reading::default()).unwrap();
    assert_eq!(names(&found), ["notes.weird"]);
}

#[test]
fn a_path_that_does_not_exist_is_an_error_that_names_it() {
    let error = find(&[PathBuf::from("/nowhere/at/all")], &Reading::default()).unwrap_err();
    assert!(error.to_string().contains("/nowhere/at/all"));
}

#[test]
fn an_empty_file_is_skipped_with_a_reason() {
    let folder = folder(&[("empty.txt", b"")]);
    let found = find(&[folder.path().to_owned()], &Reading::default()).unwrap();
    let read: Vec<_> = found.sources[0].read(&Arc::default()).collect();
    assert_eq!(read[0].clone().unwrap_err().reason, "is empty");
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
    let found = find(&[folder.path().to_owned()], &Reading::default()).unwrap();
    assert_eq!(names(&found), ["a.md"]);
    assert_eq!(
        summary(&found.skipped),
        "2 symbolic links (.md), 2 pipes and devices (.jsonl, .md)"
    );
    // Given by name it is an error, and nobody waits for it.
    for name in ["pipe.jsonl", "pipe.md"] {
        let found = find(&[folder.path().join(name)], &Reading::default()).unwrap();
        let refused = found.sources[0].read(&Arc::default()).next().unwrap().unwrap_err();
        assert!(refused.reason.contains("not a regular file"), "{refused:?}");
    }
    // It became a link after it was found.
    let found = find(&[folder.path().to_owned()], &Reading::default()).unwrap();
    fs::remove_file(folder.path().join("a.md")).unwrap();
    link(&outside.path().join("secret.md"), "a.md");
    let refused = found.sources[0].read(&Arc::default()).next().unwrap().unwrap_err();
    assert!(refused.reason.contains("became a symbolic link"), "{refused:?}");
    // A link that is given by name is followed.
    let named = find(&[folder.path().join("link.md")], &Reading::default()).unwrap();
    assert!(named.sources[0].read(&Arc::default()).next().unwrap().is_ok());
}

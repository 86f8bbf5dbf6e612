use super::*;
use crate::documents::{
    Selection, find, summary,
    tests::{folder, names},
};

fn reading(include: &[&str], exclude: &[&str], no_ignore: bool) -> Reading {
    let owned = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>();
    Reading {
        selection: Selection::new(&owned(include), &owned(exclude), no_ignore).unwrap(),
        ..Reading::default()
    }
}

#[test]
fn what_is_ignored_and_what_globs_leave_out_is_not_read() {
    let folder = folder(&[
        (".gitignore", b"*.log\nbuild/\n"),
        ("a.md", b"a"),
        ("b.log", b"b"),
        ("build/c.md", b"c"),
        ("sub/.ignore", b"d.md\n"),
        ("sub/d.md", b"d"),
        ("sub/e.txt", b"e"),
    ]);
    let found = |reading: &Reading| find(&[folder.path().to_owned()], reading).unwrap();
    assert_eq!(names(&found(&Reading::default())), ["a.md", "e.txt"]);
    let all = found(&reading(&[], &[], true));
    assert_eq!(names(&all), ["a.md", "b.log", "c.md", "d.md", "e.txt"]);
    assert_eq!(
        names(&found(&reading(&["*.md"], &[], false))),
        ["a.md"],
        "included is not un-ignored"
    );
    assert_eq!(names(&found(&reading(&["*.md"], &["build/"], true))), ["a.md", "d.md"]);
    assert!(
        found(&Reading::default()).skipped.is_empty(),
        "what was not asked for is not skipped"
    );
    // A folder within one that ignores.
    let sub = find(&[folder.path().join("sub")], &Reading::default()).unwrap();
    assert_eq!(names(&sub), ["e.txt"]);
    let named = find(&[folder.path().join("b.log")], &reading(&["*.md"], &["*"], false)).unwrap();
    assert_eq!(names(&named), ["b.log"], "a file that is named is read");
}

#[cfg(unix)]
#[test]
fn a_file_of_what_is_ignored_that_must_not_be_read_leaves_its_folder_unread() {
    let folder = folder(&[("a.md", b"a"), ("sub/b.md", b"b"), ("large/c.md", b"c")]);
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("sub/.gitignore")).unwrap();
    std::fs::write(folder.path().join("large/.ignore"), vec![b'\n'; (1 << 20) + 1]).unwrap();
    let found = find(&[folder.path().to_owned()], &Reading::default()).unwrap();
    assert_eq!(names(&found), ["a.md"]);
    assert_eq!(summary(&found.skipped), "2 unreadable files");
    assert!(
        found
            .skipped
            .iter()
            .any(|skipped| skipped.reason.contains(".gitignore")),
        "{:?}",
        found.skipped
    );
    assert_eq!(found.unread.len(), 2, "nobody knows what is in them");
    let all = find(&[folder.path().to_owned()], &reading(&[], &[], true)).unwrap();
    assert_eq!(names(&all), ["a.md", "c.md", "b.md"]);

    // Nor above the folder, nor in it.
    let pipe = std::process::Command::new("mkfifo")
        .arg(folder.path().join(".ignore"))
        .status()
        .unwrap();
    assert!(pipe.success());
    assert_eq!(
        names(&find(&[folder.path().join("large")], &reading(&[], &[], true)).unwrap()),
        ["c.md"]
    );
    std::fs::remove_file(folder.path().join("large/.ignore")).unwrap();
    let below = find(&[folder.path().join("large")], &Reading::default()).unwrap();
    assert!(
        below.sources.is_empty() && below.skipped[0].reason.contains("--no-ignore"),
        "{:?}",
        below.skipped
    );
    let root = find(&[folder.path().to_owned()], &Reading::default()).unwrap();
    assert!(root.sources.is_empty() && root.unread == [folder.path().canonicalize().unwrap()]);
}

#[test]
fn a_part_of_a_folder_is_read_as_the_whole_is() {
    let folder = folder(&[
        (".ignore", b"out/\n"),
        ("a.md", b"a"),
        ("b.md", b"b"),
        ("sub/c.md", b"c"),
        ("sub/deep/d.md", b"d"),
        ("out/e.md", b"e"),
        (".hidden/f.md", b"f"),
        ("g.png", b"g"),
    ]);
    let root = folder.path().canonicalize().unwrap();
    let part = |paths: &[&str]| {
        let part = Part::new(paths.iter().map(|path| root.join(path)).collect());
        let mut found = Found::default();
        super::find(&root, &Reading::default(), Some(&Arc::new(part)), &mut found);
        (names(&found), found.skipped.len())
    };
    assert_eq!(part(&["a.md", "missing.md"]), (vec!["a.md".to_owned()], 0));
    assert_eq!(part(&["sub"]).0, ["c.md", "d.md"]);
    assert_eq!(part(&["sub/deep/d.md", "b.md"]).0, ["b.md", "d.md"]);
    assert_eq!(part(&["out/e.md", ".hidden/f.md", "out"]).0.len(), 0);
    assert_eq!(part(&["g.png"]), (Vec::new(), 1));
    assert_eq!(part(&[""]).0, ["a.md", "b.md", "c.md", "d.md"]);
}

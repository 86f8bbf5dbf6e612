use super::*;

fn selection(include: &[&str], exclude: &[&str]) -> Selection {
    let owned = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>();
    Selection::new(&owned(include), &owned(exclude), false).unwrap()
}

#[test]
fn globs_are_those_of_gitignore_from_the_folder_that_is_read() {
    let reads = |selection: &Selection, path: &str| !selection.leaves_out(Path::new(path), false);
    let all = selection(&[], &[]);
    assert!(reads(&all, "a/b.txt"));
    let some = selection(&["*.md", "/top.txt", "manual/"], &["drafts/", "*.tmp.md"]);
    for (path, is_read) in [
        ("a.md", true),
        ("deep/down/a.md", true),
        ("top.txt", true),
        ("deep/top.txt", false),
        ("manual/page.html", true),
        ("a/manual/page.html", true),
        ("a.txt", false),
        ("a.tmp.md", false),
    ] {
        assert_eq!(reads(&some, path), is_read, "{path}");
    }
    assert!(
        some.leaves_out(Path::new("a/drafts"), true),
        "its files are not asked about"
    );
    assert!(
        !some.leaves_out(Path::new("a"), true),
        "there may be files to include in it"
    );
    assert!(reads(&selection(&["#1.md"], &[]), "#1.md"));
}

#[test]
fn a_glob_that_cannot_be_used_is_named_with_its_option() {
    let refused = |include: &[&str], exclude: &[&str]| {
        let owned = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>();
        Selection::new(&owned(include), &owned(exclude), false)
            .unwrap_err()
            .to_string()
    };
    let long = "x".repeat(MAX_GLOB_BYTES + 1);
    let many = vec!["*.md"; MAX_GLOBS + 1];
    assert!(refused(&["a{b"], &[]).starts_with("--include \"a{b\": "));
    assert!(refused(&[], &["[z-a]"]).starts_with("--exclude \"[z-a]\": "));
    assert!(refused(&[""], &[]).contains("is blank"));
    assert!(refused(&["!a"], &[]).contains("the other of"));
    assert!(refused(&[], &[&long]).contains("at most 1024"));
    assert!(refused(&[], &many).contains("at most 100"));
}

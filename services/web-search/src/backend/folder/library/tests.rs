use super::*;

fn open() -> CancellationToken {
    CancellationToken::new()
}

fn titles(library: &Library, query: &str) -> Vec<String> {
    library
        .index
        .search(query, |_| true)
        .into_iter()
        .map(|hit| hit.window.page.title.clone())
        .collect()
}

#[test]
fn a_folder_is_read_with_subfolders_and_without_hidden_files() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("sub/kettle.txt"), "Kettles boil water.").unwrap();
    fs::write(folder.path().join(".kettle.txt"), "Kettles boil water.").unwrap();
    fs::write(folder.path().join("kettle.png"), "Kettles boil water.").unwrap();
    let library = Library::open(folder.path(), 1500, &open()).unwrap();
    assert_eq!(titles(&library, "kettle"), ["kettle"]);
}

#[test]
fn only_changed_files_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first.txt"), folder.path().join("second.txt"));
    fs::write(&first, "Kettles boil water.").unwrap();
    let library = Library::open(folder.path(), 1500, &open()).unwrap();
    assert!(library.refreshed(folder.path(), 1500, &open()).is_none());

    fs::write(&second, "Pans fry eggs.").unwrap();
    let library = library.refreshed(folder.path(), 1500, &open()).unwrap();
    assert_eq!(
        (titles(&library, "fry"), titles(&library, "boil")),
        (vec!["second".to_owned()], vec!["first".to_owned()])
    );

    fs::write(&first, "Kettles whistle loudly.").unwrap();
    let kept = Arc::clone(&library.files[&second].1[0]);
    let library = library.refreshed(folder.path(), 1500, &open()).unwrap();
    assert_eq!(
        (titles(&library, "whistle").len(), titles(&library, "boil").len()),
        (1, 0)
    );
    assert!(Arc::ptr_eq(&kept, &library.files[&second].1[0]));

    fs::remove_file(&first).unwrap();
    let library = library.refreshed(folder.path(), 1500, &open()).unwrap();
    assert!(titles(&library, "whistle").is_empty());

    drop(folder);
    assert!(library.refreshed(first.parent().unwrap(), 1500, &open()).is_none());
}

#[test]
fn a_folder_that_is_missing_or_a_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Library::open(&folder.path().join("missing"), 1500, &open()).is_err());
    let file = folder.path().join("a.txt");
    fs::write(&file, "text").unwrap();
    assert!(Library::open(&file, 1500, &open()).is_err());
}

#[cfg(unix)]
#[test]
fn links_are_followed_within_the_folder_only() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.txt"), "Kettles boil water.").unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("..data")).unwrap();
    fs::write(folder.path().join("..data/kettle.txt"), "Kettles boil water.").unwrap();
    let link = |target: &Path, name: &str| std::os::unix::fs::symlink(target, folder.path().join(name)).unwrap();
    link(Path::new("..data/kettle.txt"), "mounted.txt");
    link(&outside.path().join("secret.txt"), "out.txt");
    link(outside.path(), "out");
    link(Path::new("/dev/zero"), "zero.txt");
    let library = Library::open(folder.path(), 1500, &open()).unwrap();
    assert_eq!(titles(&library, "kettle"), ["mounted"]);
}

#[test]
fn reading_stops_with_the_service() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("kettle.txt"), "Kettles boil water.").unwrap();
    let closed = open();
    closed.cancel();
    assert!(Library::default().refreshed(folder.path(), 1500, &closed).is_none());
    let pages = Library::open(folder.path(), 1500, &open()).unwrap();
    let pages = pages.files.values().flat_map(|(_, pages)| pages.iter().cloned());
    assert!(Index::build(pages, 1500, &closed).is_none());
}

#[test]
fn pages_that_were_made_to_harm_hold_up_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let save = |name: &str, page: String| fs::write(folder.path().join(name), page).unwrap();
    save("divs.html", "<div>".repeat(400_000));
    save("fonts.html", "<font size=1>".repeat(5_000) + &"<p>word".repeat(5_000));
    save("attributes.html", format!("<p{}>word", " a=1".repeat(500_000)));
    save("ends.html", "<blockquote>".repeat(300) + &"</svg>".repeat(100_000));
    save("kettle.html", "<p>Kettles boil water.".to_owned());
    let library = Library::open(folder.path(), 1500, &open()).unwrap();
    assert_eq!(titles(&library, "kettle"), ["kettle"]);
}

use super::*;

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
    let library = Library::open(folder.path(), 1500).unwrap();
    assert_eq!(titles(&library, "kettle"), ["kettle"]);
}

#[test]
fn only_changed_files_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first.txt"), folder.path().join("second.txt"));
    fs::write(&first, "Kettles boil water.").unwrap();
    let library = Library::open(folder.path(), 1500).unwrap();
    assert!(library.refreshed(folder.path(), 1500).is_none());

    fs::write(&second, "Pans fry eggs.").unwrap();
    let library = library.refreshed(folder.path(), 1500).unwrap();
    assert_eq!(
        (titles(&library, "fry"), titles(&library, "boil")),
        (vec!["second".to_owned()], vec!["first".to_owned()])
    );

    fs::write(&first, "Kettles whistle loudly.").unwrap();
    let kept = Arc::clone(&library.files[&second].1[0]);
    let library = library.refreshed(folder.path(), 1500).unwrap();
    assert_eq!(
        (titles(&library, "whistle").len(), titles(&library, "boil").len()),
        (1, 0)
    );
    assert!(Arc::ptr_eq(&kept, &library.files[&second].1[0]));

    fs::remove_file(&first).unwrap();
    let library = library.refreshed(folder.path(), 1500).unwrap();
    assert!(titles(&library, "whistle").is_empty());

    drop(folder);
    assert!(library.refreshed(first.parent().unwrap(), 1500).is_none());
}

#[test]
fn a_folder_that_is_missing_or_a_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Library::open(&folder.path().join("missing"), 1500).is_err());
    let file = folder.path().join("a.txt");
    fs::write(&file, "text").unwrap();
    assert!(Library::open(&file, 1500).is_err());
}

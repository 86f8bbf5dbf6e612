use std::collections::BTreeSet;

use super::*;
use crate::documents::{Reading, find};

fn file(path: &str, records: Option<&[&str]>) -> ReadFile {
    ReadFile {
        path: PathBuf::from(path),
        records: records.map(|records| records.iter().map(|record| (*record).to_owned()).collect()),
        is_complete: true,
        is_stored: records.is_none(),
    }
}

fn shelf(files: impl IntoIterator<Item = ReadFile>) -> Shelf {
    let mut shelf = Shelf::default();
    files.into_iter().for_each(|file| shelf.put(file, &Stamps::new()));
    shelf
}

fn part(paths: &[&str]) -> Part {
    Part::new(paths.iter().map(PathBuf::from).collect::<BTreeSet<_>>())
}

#[test]
fn a_folder_that_is_gone_takes_its_files_with_it_and_no_others() {
    let shelf = shelf(["/d/a", "/d/a.md", "/d/a/x.md", "/d/a/y/z.md", "/d/b.md"].map(|path| file(path, None)));
    let gone = |part: Option<&Part>, found: &Found| {
        let gone = shelf.gone(found, part).into_iter();
        gone.map(|path| path.display().to_string()).collect::<Vec<_>>()
    };
    let nothing = Found::default();
    assert_eq!(
        gone(Some(&part(&["/d/a"])), &nothing),
        ["/d/a", "/d/a/x.md", "/d/a/y/z.md"]
    );
    assert_eq!(gone(Some(&part(&["/d/a/y", "/d/c"])), &nothing), ["/d/a/y/z.md"]);
    assert_eq!(gone(None, &nothing).len(), 5);
    let unread = Found {
        unread: vec![PathBuf::from("/d/a")],
        ..Found::default()
    };
    assert_eq!(
        gone(None, &unread),
        ["/d/a.md", "/d/b.md"],
        "what cannot be looked at stays"
    );
}

#[test]
fn records_go_with_their_file_unless_another_one_has_them_now() {
    let mut shelf = shelf([
        file("/d/a.jsonl", Some(&["1", "2", "3"])),
        file("/d/b.jsonl", Some(&["3", "4"])),
        file("/d/c.md", None),
    ]);
    let gone = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    assert_eq!(
        shelf.removed_by(&gone(&["/d/a.jsonl", "/d/c.md"]), &[]),
        ["/d/c.md", "1", "2"]
    );
    // One record moves on, one is dropped.
    let read = [
        file("/d/a.jsonl", Some(&["1"])),
        file("/d/b.jsonl", Some(&["2", "3", "4"])),
    ];
    assert_eq!(shelf.removed_by(&[], &read), Vec::<String>::new());
    read.into_iter().for_each(|file| shelf.put(file, &Stamps::new()));
    assert_eq!(shelf.removed_by(&[], &[file("/d/b.jsonl", Some(&["4"]))]), ["2", "3"]);
    shelf.remove(Path::new("/d/b.jsonl"));
    assert_eq!(
        shelf.removed_by(&gone(&["/d/b.jsonl"]), &[]),
        Vec::<String>::new(),
        "only once"
    );
    assert_eq!(shelf.records.len(), 1);
}

#[test]
fn a_file_some_of_whose_records_cannot_be_read_loses_none() {
    let mut shelf = shelf([file("/d/a.jsonl", Some(&["1", "2"]))]);
    let mut damaged = file("/d/a.jsonl", Some(&["1"]));
    damaged.is_complete = false;
    assert!(shelf.removed_by(&[], std::slice::from_ref(&damaged)).is_empty());
    shelf.put(damaged, &Stamps::new());
    assert_eq!(
        shelf.removed_by(&[], &[file("/d/a.jsonl", Some(&["1"]))]),
        ["2"],
        "once it is whole again"
    );
}

#[test]
fn a_document_that_was_never_stored_is_not_removed() {
    let mut failed = file("/d/a.md", None);
    failed.is_stored = false;
    let mut shelf = shelf([failed.clone()]);
    let gone = [PathBuf::from("/d/a.md")];
    assert!(shelf.removed_by(&gone, &[]).is_empty());
    shelf.put(file("/d/a.md", None), &Stamps::new());
    shelf.put(failed, &Stamps::new());
    assert_eq!(
        shelf.removed_by(&gone, &[]),
        ["/d/a.md"],
        "an earlier version is stored"
    );
}

#[test]
fn a_stamp_tells_a_change_and_is_not_believed_too_soon() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.md");
    fs::write(&path, "one").unwrap();
    let fresh = Stamp::of(&path).unwrap();
    assert!(
        !fresh.still_holds(&fresh),
        "it may be written again within the same tick of the clock"
    );
    let old = fs::File::options().write(true).open(&path).unwrap();
    old.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    drop(old);
    let aged = Stamp::of(&path).unwrap();
    assert!(aged.still_holds(&Stamp::of(&path).unwrap()));
    fs::write(&path, "two").unwrap();
    assert!(!aged.still_holds(&Stamp::of(&path).unwrap()));
    assert!(aged.is_same_file(&Stamp::of(&path).unwrap()) && Stamp::of(&folder.path().join("b")).is_none());
    let found = find(&[folder.path().to_owned()], &Reading::default()).unwrap();
    assert!(shelf([]).gone(&found, None).is_empty());
}

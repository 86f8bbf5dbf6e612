//! `emend collections` on the local store.

use std::{fs, process::Output};

use super::{Place, stderr, stdout};

fn run(place: &Place, arguments: &[&str]) -> Output {
    place.emend(&[&["collections"], arguments].concat()).output().unwrap()
}

fn ingested() -> Place {
    let place = Place::new();
    let docs = place.docs.path().to_str().unwrap();
    let output = place
        .emend(&["ingest", "--collection", "notes", docs])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    place
}

#[test]
fn collections_are_listed_described_repaired_and_removed() {
    let place = ingested();
    let listed = run(&place, &["list"]);
    assert_eq!(listed.status.code(), Some(0), "{}", stderr(&listed));
    let line = stdout(&listed);
    assert!(
        line.starts_with("notes  1 documents") && line.contains("hashed-256"),
        "{line}"
    );
    let described = run(&place, &["describe", "notes", "--json"]);
    let described: serde_json::Value = serde_json::from_slice(&described.stdout).unwrap();
    assert_eq!(
        (&described["documents"], &described["dimensions"]),
        (&"1".into(), &256.into())
    );
    let repaired = run(&place, &["repair", "notes"]);
    assert_eq!(repaired.status.code(), Some(0), "{}", stderr(&repaired));
    assert!(stdout(&repaired).starts_with("0 left behind"), "{}", stdout(&repaired));
    // Nobody can be asked here.
    let asked = run(&place, &["delete", "notes"]);
    assert_eq!(asked.status.code(), Some(1));
    assert!(stderr(&asked).contains("--yes"), "{}", stderr(&asked));
    let unknown = run(&place, &["delete", "other", "--yes"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(stderr(&unknown).contains("known are notes"), "{}", stderr(&unknown));
    let removed = run(&place, &["delete", "notes", "--yes"]);
    assert_eq!(removed.status.code(), Some(0), "{}", stderr(&removed));
    let listed = run(&place, &["list", "--json"]);
    assert_eq!(
        stdout(&listed).split_whitespace().collect::<String>(),
        "{\"collections\":[]}"
    );
}

#[test]
fn an_export_is_imported_as_it_was() {
    let place = ingested();
    let file = place.data.path().join("notes.jsonl");
    let file = file.to_str().unwrap();
    let exported = run(&place, &["export", "notes", "--out", file]);
    assert_eq!(exported.status.code(), Some(0), "{}", stderr(&exported));
    let again = run(&place, &["export", "notes", "--out", file]);
    assert!(stderr(&again).contains("--resume"), "{}", stderr(&again));
    // Broken off within the document: the rest of it comes again.
    let whole = fs::read_to_string(file).unwrap();
    fs::write(file, &whole[..whole.len() - 20]).unwrap();
    let broken = run(&place, &["import", file, "--collection", "copies"]);
    assert_eq!(broken.status.code(), Some(1));
    assert!(stderr(&broken).contains("--resume"), "{}", stderr(&broken));
    let resumed = run(&place, &["export", "notes", "--out", file, "--resume"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    assert_eq!(fs::read_to_string(file).unwrap(), whole);
    let shown = run(&place, &["export", "notes"]);
    assert_eq!(stdout(&shown), whole);

    let imported = run(&place, &["import", file, "--collection", "copies"]);
    assert_eq!(imported.status.code(), Some(0), "{}", stderr(&imported));
    assert!(
        stderr(&imported).contains("1 imported, 0 unchanged"),
        "{}",
        stderr(&imported)
    );
    let again = run(&place, &["import", file, "--collection", "copies"]);
    assert!(stderr(&again).contains("0 imported, 1 unchanged"), "{}", stderr(&again));
    let copied = run(&place, &["export", "copies"]);
    assert_eq!(stdout(&copied).replacen("copies", "notes", 1), whole);
    let none = run(&place, &["import", "/nowhere.jsonl"]);
    assert!(
        stderr(&none).contains("/nowhere.jsonl cannot be imported"),
        "{}",
        stderr(&none)
    );
}

#[test]
fn a_copy_takes_its_place_and_answers() {
    let place = ingested();
    let copied = run(&place, &["copy", "notes", "notes-2", "--embedder", "hashed", "--json"]);
    assert_eq!(copied.status.code(), Some(0), "{}", stderr(&copied));
    let copied: serde_json::Value = serde_json::from_slice(&copied.stdout).unwrap();
    assert_eq!((&copied["to"], &copied["documents"]), (&"notes-2".into(), &1.into()));
    let again = run(&place, &["copy", "notes-2", "notes-2", "--embedder", "hashed"]);
    assert!(
        stderr(&again).contains("copied notes-2 to notes-2: 1 documents"),
        "{}",
        stderr(&again)
    );
    let [one, two] = ["notes", "notes-2"].map(|name| stdout(&run(&place, &["export", name])));
    assert_eq!(two.replacen("notes-2", "notes", 1), one);
    let unknown = run(&place, &["copy", "nothing", "new"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(
        stderr(&unknown).contains("known are notes, notes-2"),
        "{}",
        stderr(&unknown)
    );
}

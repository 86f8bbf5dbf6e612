//! `emend collections` on the local store, and on a Qdrant server.

use std::{fs, process::Output};

use emend_test_qdrant::Server;

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

/// Notes of a lighthouse, each of which is a document.
const NOTES: [(&str, &str); 4] = [
    ("bell.md", "The bell rings in fog.\n"),
    ("lamp.md", "The lamp is lit at dusk.\n"),
    ("stairs.md", "The stairs have ninety steps.\n"),
    ("tide.md", "The tide is written down twice a day.\n"),
];

/// A place whose collections are on a stand-in for a Qdrant server.
struct OnQdrant {
    place: Place,
    server: Server,
    url: String,
    _runtime: tokio::runtime::Runtime,
}

impl OnQdrant {
    fn new() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (server, url) = runtime.block_on(Server::start());
        let place = Place::new();
        fs::remove_file(place.docs.path().join("leave.md")).unwrap();
        for (name, text) in NOTES {
            fs::write(place.docs.path().join(name), text).unwrap();
        }
        Self {
            place,
            server,
            url,
            _runtime: runtime,
        }
    }

    fn emend(&self, arguments: &[&str]) -> Output {
        let mut command = self.place.emend(arguments);
        command.env("EMEND_STORE", "qdrant").env("EMEND_QDRANT_URL", &self.url);
        command.output().unwrap()
    }

    fn collections(&self, arguments: &[&str]) -> Output {
        self.emend(&[&["collections"], arguments].concat())
    }

    /// Runs a command that must succeed, and returns what it prints and what it says besides.
    fn done(&self, arguments: &[&str]) -> (String, String) {
        let output = self.collections(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
        (stdout(&output), stderr(&output))
    }

    fn ingest(&self) -> String {
        let docs = self.place.docs.path().to_str().unwrap();
        let output = self.emend(&["ingest", "--collection", "notes", docs]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stderr(&output)
    }
}

#[test]
fn collections_on_qdrant_are_listed_described_copied_repaired_and_removed() {
    let on = OnQdrant::new();
    assert!(on.ingest().contains("4 ingested"));
    let (listed, _) = on.done(&["list"]);
    assert!(
        listed.starts_with("notes  4 documents  4 passages  hashed-256"),
        "{listed}"
    );
    let (described, _) = on.done(&["describe", "notes", "--json"]);
    let described: serde_json::Value = serde_json::from_str(&described).unwrap();
    assert_eq!(
        (&described["documents"], &described["dimensions"]),
        (&"4".into(), &256.into())
    );
    assert!(!on.place.data.path().join(".local").exists(), "nothing is kept here");

    let (_, copied) = on.done(&["copy", "notes", "notes-2", "--embedder", "hashed"]);
    assert!(copied.contains("copied notes to notes-2: 4 documents"), "{copied}");
    // Again onto itself, which only a copy can be; the other one was made by documents.
    on.done(&["copy", "notes-2", "notes-2", "--embedder", "hashed"]);
    let occupied = on.collections(&["copy", "notes", "notes", "--embedder", "hashed"]);
    assert_eq!(occupied.status.code(), Some(1));
    assert!(
        stderr(&occupied).contains("was not made by a copy"),
        "{}",
        stderr(&occupied)
    );
    let (listed, _) = on.done(&["list"]);
    let names: Vec<_> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(names, ["notes", "notes-2"]);
    let asked = on.emend(&["ask", "--collection", "notes-2", "--", "When is the lamp lit?"]);
    assert!(
        stdout(&asked).contains("at dusk. [1]"),
        "{}{}",
        stdout(&asked),
        stderr(&asked)
    );

    // What the server lost is named until it is ingested again, which is not taken for unchanged.
    let (repaired, _) = on.done(&["repair", "notes"]);
    assert!(repaired.starts_with("0 left behind"), "{repaired}");
    let lamp = fs::canonicalize(on.place.docs.path().join("lamp.md")).unwrap();
    let lamp = lamp.to_str().unwrap();
    assert_eq!(
        on.server
            .lose("emend-notes", &[("document", lamp), ("kind", "section")]),
        1
    );
    let damaged = on.collections(&["repair", "notes"]);
    assert_eq!(damaged.status.code(), Some(1), "{}", stderr(&damaged));
    let (out, err) = (stdout(&damaged), stderr(&damaged));
    assert!(out.contains(&format!("1 documents not whole\n  {lamp}\n")), "{out}");
    assert!(err.contains("ingest the documents that are not whole again"), "{err}");
    let ingested = on.ingest();
    assert!(
        ingested.contains("1 ingested") && ingested.contains("3 unchanged"),
        "{ingested}"
    );
    on.done(&["repair", "notes"]);

    let unknown = on.collections(&["delete", "other", "--yes"]);
    assert!(
        stderr(&unknown).contains("known are notes, notes-2"),
        "{}",
        stderr(&unknown)
    );
    for name in ["notes", "notes-2"] {
        let (_, removed) = on.done(&["delete", name, "--yes"]);
        assert!(removed.contains(&format!("removed {name}: 4 documents")), "{removed}");
    }
    assert_eq!(on.server.names(), [""; 0]);
}

#[test]
fn an_import_into_qdrant_goes_on_after_a_cut_in_the_middle() {
    let on = OnQdrant::new();
    on.ingest();
    let file = on.place.data.path().join("notes.jsonl");
    let file = file.to_str().unwrap();
    on.done(&["export", "notes", "--out", file]);
    let whole = fs::read_to_string(file).unwrap();
    // In the middle of the third document.
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 1 + NOTES.len(), "{whole}");
    let cut = lines[..3].concat() + &lines[3][..lines[3].len() / 2];
    fs::write(file, &cut).unwrap();
    let broken = on.collections(&["import", file, "--collection", "again"]);
    assert_eq!(broken.status.code(), Some(1));
    let err = stderr(&broken);
    assert!(
        err.contains("2 imported, 0 unchanged, 0 failed") && err.contains("line 4 is no document"),
        "{err}"
    );
    let (listed, _) = on.done(&["list"]);
    assert!(listed.starts_with("again  2 documents"), "{listed}");

    on.done(&["export", "notes", "--out", file, "--resume"]);
    assert_eq!(fs::read_to_string(file).unwrap(), whole);
    let (_, imported) = on.done(&["import", file, "--collection", "again"]);
    assert!(imported.contains("2 imported, 2 unchanged, 0 failed"), "{imported}");
    let (exported, _) = on.done(&["export", "again"]);
    assert_eq!(exported.replacen("again", "notes", 1), whole);

    // Into the local store, and back from there.
    let local = run(&on.place, &["import", file]);
    assert_eq!(local.status.code(), Some(0), "{}", stderr(&local));
    assert_eq!(stdout(&run(&on.place, &["export", "notes"])), whole);
}

#[test]
fn a_qdrant_server_that_refuses_the_key_says_so_and_no_command_shows_it() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let access = emend_test_qdrant::Access {
        key: Some("pl4nted-k3y".to_owned()),
        ..Default::default()
    };
    let (_server, url) = runtime.block_on(Server::start_for(access));
    let place = Place::new();
    let list = |key: &str| {
        let mut command = place.emend(&["collections", "list"]);
        command.env("EMEND_STORE", "qdrant").env("EMEND_QDRANT_URL", &url);
        command.env("EMEND_QDRANT_API_KEY", key).output().unwrap()
    };
    let refused = list("pl4nted-gu3ss");
    let err = stderr(&refused);
    assert_eq!(refused.status.code(), Some(1), "{err}");
    assert!(
        err.contains("refuses this service") && err.contains("EMEND_QDRANT_API_KEY"),
        "{err}"
    );
    assert!(!err.contains("gu3ss") && !stdout(&refused).contains("gu3ss"), "{err}");
    let taken = list("pl4nted-k3y");
    assert_eq!(taken.status.code(), Some(0), "{}", stderr(&taken));
    assert!(stderr(&taken).contains("no collections yet"), "{}", stderr(&taken));
}

//! `emend ingest`: what is found, what is removed, and folders that are watched.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, BufRead as _, BufReader, Lines, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    process::{Child, ChildStdout, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::Value;

use super::{Place, stderr, stdout};

impl Place {
    /// Ingests and returns the exit status and the last line of JSON.
    fn ingest(&self, arguments: &[&str]) -> (Option<i32>, Value) {
        let output = self
            .emend(&[&["ingest", "--json"], arguments].concat())
            .output()
            .unwrap();
        let out = stdout(&output);
        let last = out.lines().last().unwrap_or_default();
        let summary = serde_json::from_str(last);
        assert!(summary.is_ok(), "{out}{}", stderr(&output));
        let summary = summary.unwrap();
        (output.status.code(), summary)
    }

    pub(super) fn listed(&self) -> Vec<String> {
        let output = self.emend(&["documents", "list", "--json"]).output().unwrap();
        let id = |line: &str| {
            serde_json::from_str::<Value>(line).unwrap()["id"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        stdout(&output).lines().map(id).collect()
    }

    pub(super) fn write(&self, name: &str, text: &str) -> String {
        let path = self.docs.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::canonicalize(path).unwrap().to_str().unwrap().to_owned()
    }

    /// As [`write`](Self::write), in one step, as editors do.
    fn save(&self, name: &str, text: &str) -> String {
        let beside = self.write(".beside", text);
        let path = self.docs.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::rename(beside, &path).unwrap();
        fs::canonicalize(path).unwrap().to_str().unwrap().to_owned()
    }
}

#[test]
fn skipped_files_are_counted_by_kind_and_strict_has_a_status_of_its_own() {
    let place = Place::new();
    place.write("a.png", "\u{89}PNG\0");
    place.write("b.png", "\u{89}PNG\0");
    place.write("c.zip", "PK\0\0");
    let docs = place.docs.path().to_str().unwrap();
    let (status, summary) = place.ingest(&[docs]);
    assert_eq!((status, &summary["ingested"]), (Some(0), &1.into()));
    let skipped = ["a.png", "b.png", "c.zip"].map(|name| {
        let file = place.docs.path().canonicalize().unwrap().join(name);
        (
            file.to_str().unwrap().to_owned(),
            "it is neither text nor a document that is read".into(),
        )
    });
    let skipped: serde_json::Map<_, _> = skipped.into_iter().collect();
    assert_eq!(summary["skipped"], serde_json::Value::Object(skipped));
    assert_eq!(summary["skippedKinds"], serde_json::json!({ "image": 2, "archive": 1 }));
    let (status, summary) = place.ingest(&["--strict", docs]);
    assert_eq!((status, &summary["unchanged"]), (Some(5), &1.into()));
    let (status, summary) = place.ingest(&["--strict", "--include", "*.md", docs]);
    assert_eq!(
        (status, &summary["skipped"]),
        (Some(0), &serde_json::json!({})),
        "what was not asked for is not skipped"
    );

    place.write("empty.md", "");
    let (status, summary) = place.ingest(&[docs]);
    assert_eq!(status, Some(1), "{summary}");
    assert_eq!(place.ingest(&["--strict", docs]).0, Some(5));
    let shown = stderr(&place.emend(&["ingest", "-v", docs]).output().unwrap());
    assert!(shown.contains("2 images (.png), 1 archive (.zip)"), "{shown}");
    assert!(
        shown.contains("a.png is skipped") && shown.contains("c.zip is skipped"),
        "{shown}"
    );
}

#[test]
fn a_prune_removes_what_is_gone_from_its_folder_and_nothing_else() {
    let place = Place::new();
    let one = place.write("one/a.md", "The first of all texts.");
    let two = place.write("two/b.md", "The second of all texts.");
    let table = place.write(
        "one/faq.csv",
        "key,question\n1,Who approves leave here?\n2,Who approves travel here?\n",
    );
    let fields = ["--id-field", "key", "--text-field", "question"];
    let folder = |name: &str| place.docs.path().join(name).to_str().unwrap().to_owned();
    let (one_folder, two_folder) = (folder("one"), folder("two"));
    place.ingest(&[&fields[..], &[&one_folder]].concat());
    place.ingest(&[&two_folder]);
    assert_eq!(place.listed(), [one.as_str(), &two, "1", "2"]);

    fs::remove_file(&one).unwrap();
    fs::write(&table, "key,question\n2,Who approves travel here?\n").unwrap();
    let (_, summary) = place.ingest(&[&fields[..], &["--prune", &one_folder]].concat());
    assert_eq!(
        (&summary["removed"], &summary["unchanged"]),
        (&2.into(), &1.into()),
        "{summary}"
    );
    assert_eq!(
        place.listed(),
        [two.as_str(), "2"],
        "what came from the other folder stays"
    );

    // A table that can no longer be read in full keeps its records.
    fs::write(&table, "key,question\n,no key\n").unwrap();
    let (status, summary) = place.ingest(&[&fields[..], &["--prune", &one_folder]].concat());
    assert_eq!((status, &summary["removed"]), (Some(1), &0.into()), "{summary}");
    fs::remove_file(&two).unwrap();
    place.write("two/c.md", "Another text altogether.");
    let (_, summary) = place.ingest(&["--prune", &two_folder]);
    assert_eq!(summary["removed"], 1);
    assert_eq!(place.listed().len(), 2);
}

#[test]
fn what_is_wrong_with_an_option_is_said_before_anything_is_stored() {
    let place = Place::new();
    let table = place.write("faq.csv", "key,question\n1,Who?\n");
    let file = place.docs.path().join("leave.md");
    for (arguments, says) in [
        (
            &["--text-field", "questoin"][..],
            "known are key, question; did you mean `question`?",
        ),
        (&["--include", "a{b"], "--include \"a{b\""),
        (&["--watch"], "--watch follows folders"),
        (&["--rescan", "5s"], "--watch"),
        (&["--watch", "--rescan", "5ms"], "less than 1s"),
    ] {
        let output = place
            .emend(&[&["ingest"], arguments, &[&table]].concat())
            .output()
            .unwrap();
        let err = stderr(&output);
        assert!(!output.status.success() && err.contains(says), "{arguments:?}: {err}");
    }
    let named = place
        .emend(&["ingest", "--text-field", "a", file.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(
        stderr(&named).contains("no file of JSON Lines or CSV"),
        "{}",
        stderr(&named)
    );
    let json = place
        .emend(&["ingest", "--json", "--exclude", "[z-a]", &table])
        .output()
        .unwrap();
    assert_eq!(json.status.code(), Some(2), "{}", stderr(&json));
    let told: Value = serde_json::from_str(&stdout(&json)).unwrap();
    assert!(
        told["error"]["message"].as_str().unwrap().contains("--exclude"),
        "{told}"
    );
    assert!(!place.data.path().join(".local").exists(), "no collection was made");
}

#[test]
fn a_document_is_listed_and_read_back() {
    let place = Place::new();
    let id = place.write(
        "travel.md",
        "# Travel\n\nTrains are booked in second class. Receipts are kept for two years.\n",
    );
    place.ingest(&[place.docs.path().to_str().unwrap()]);
    let shown = stdout(&place.emend(&["documents", "show", &id]).output().unwrap());
    assert!(
        shown.contains("title: Travel") && shown.contains("Trains are booked in second class."),
        "{shown}"
    );
    assert!(shown.contains(&format!("{id}#p0 [0, ")), "{shown}");
    let page = stdout(
        &place
            .emend(&["documents", "show", "--json", "--chunks", &id])
            .output()
            .unwrap(),
    );
    let page: Value = serde_json::from_str(&page).unwrap();
    assert_eq!(page["passages"][0]["id"], format!("{id}#c0"));
    let listed = stdout(&place.emend(&["documents", "list"]).output().unwrap());
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let missing = place.emend(&["documents", "show", "travel.md"]).output().unwrap();
    let err = stderr(&missing);
    assert!(
        missing.status.code() == Some(1) && err.contains("unknown document") && err.contains(&id),
        "{err}"
    );
}

#[test]
fn feedback_is_recorded_and_becomes_pairs() {
    let place = Place::new();
    let answer = place.data.path().join("answer.json");
    fs::write(&answer, stdout(&place.ask(&["--json", "--", super::ASKED]))).unwrap();
    let folder = place.data.path().join("feedback");
    let (folder, answer) = (folder.to_str().unwrap(), answer.to_str().unwrap());
    let record = |more: &[&str]| {
        let fixed = [
            "feedback",
            "record",
            "--feedback-dir",
            folder,
            "--question",
            super::ASKED,
        ];
        place.emend(&[&fixed[..], more].concat()).output().unwrap()
    };
    let recorded = record(&["--verdict", "right", "--result", answer, "--relevant", "1"]);
    assert_eq!(recorded.status.code(), Some(0), "{}", stderr(&recorded));
    let refused = record(&["--verdict", "wrong"]);
    assert!(stderr(&refused).contains("feedback.answer"), "{}", stderr(&refused));
    let refused = record(&["--verdict", "right", "--result", answer, "--relevant", "9"]);
    assert!(stderr(&refused).contains("--relevant 9"), "{}", stderr(&refused));

    let out = place.data.path().join("pairs");
    let export = [
        "feedback",
        "export",
        "--feedback-dir",
        folder,
        "--out",
        out.to_str().unwrap(),
    ];
    let exported = place.emend(&export).output().unwrap();
    assert_eq!(
        stdout(&exported),
        "1 pairs for relevance, 1 for usefulness, of 1 records of feedback\n"
    );
    let pairs = fs::read_to_string(out.join("relevance/feedback.jsonl")).unwrap();
    let pair: Value = serde_json::from_str(pairs.trim_end()).unwrap();
    assert_eq!(
        (&pair["relevant"], &pair["question"]),
        (&true.into(), &super::ASKED.into())
    );
    assert!(pair["passage"].as_str().unwrap().contains("25 days"), "{pair}");
}

/// A folder that is being watched.
struct Watching {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watching {
    fn start(place: &Place, more: &[&str]) -> Self {
        let docs = place.docs.path().to_str().unwrap();
        let mut command = place.emend(&[&["ingest", "--watch", "--json"], more, &[docs]].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn next(&mut self) -> Value {
        let line = self.lines.next().unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// The next change and the document that it is about. A file that is looked at twice is unchanged the second time.
    fn change(&mut self) -> (String, String) {
        loop {
            let event = self.next();
            let text = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
            if text("event") != "unchanged" {
                return (text("event"), text("document"));
            }
        }
    }

    /// Reads events until there were `count` of a kind; the kinds of all that came, counted.
    fn until(&mut self, kind: &str, count: u64) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        while counts.get(kind) != Some(&count) {
            let event = self.next()["event"].as_str().unwrap_or_default().to_owned();
            *counts.entry(event).or_default() += 1;
        }
        counts
    }

    /// Presses Ctrl-C. The exit status, and the summary.
    fn stop(mut self) -> (Option<i32>, Value) {
        let killed = std::process::Command::new("kill")
            .args(["-INT", &self.child.id().to_string()])
            .status();
        assert!(killed.unwrap().success());
        let summary = self.next();
        (self.child.wait().unwrap().code(), summary)
    }
}

fn pair(kind: &str, document: &str) -> (String, String) {
    (kind.to_owned(), document.to_owned())
}

#[test]
fn a_watched_folder_is_followed_through_every_kind_of_change() {
    let place = Place::new();
    let gone = place.write("gone.md", "It is removed while nobody watches.");
    place.ingest(&[place.docs.path().to_str().unwrap()]);
    fs::remove_file(&gone).unwrap();
    let mut watching = Watching::start(&place, &["--exclude", "drafts/"]);
    let ready = watching.next();
    assert_eq!(
        (&ready["event"], &ready["removed"], &ready["unchanged"]),
        (&"watching".into(), &1.into(), &1.into())
    );

    let created = place.save("sub/new.md", "A new text in a new folder.");
    assert_eq!(watching.change(), pair("ingested", &created));
    let mut file = fs::File::options().append(true).open(&created).unwrap();
    file.write_all(b" And more of it.").unwrap();
    drop(file);
    assert_eq!(watching.change(), pair("ingested", &created));
    let touched = fs::File::options().write(true).open(&created).unwrap();
    touched.set_modified(std::time::SystemTime::now()).unwrap();
    drop(touched);
    assert_eq!(
        watching.until("unchanged", 1).len(),
        1,
        "a file that says the same is not stored again"
    );
    // As editors save: another file, in its place.
    place.save("sub/new.md", "A new text, saved by an editor.");
    assert_eq!(watching.change(), pair("ingested", &created));
    // What is hidden or excluded is no change; the folder that is renamed after it is.
    place.save(".hidden.md", "hidden");
    place.save("drafts/draft.md", "a draft");
    let renamed = place.docs.path().canonicalize().unwrap().join("moved");
    fs::rename(place.docs.path().join("sub"), &renamed).unwrap();
    let moved = renamed.join("new.md").to_str().unwrap().to_owned();
    let mut both = [watching.change(), watching.change()];
    both.sort();
    assert_eq!(both, [pair("ingested", &moved), pair("removed", &created)]);
    // A file that names what is ignored takes effect at once.
    place.save(".ignore", "moved/\n");
    assert_eq!(watching.change(), pair("removed", &moved));
    fs::remove_file(place.docs.path().join(".ignore")).unwrap();
    assert_eq!(watching.change(), pair("ingested", &moved));
    place.save(
        "r.jsonl",
        "{\"id\":\"1\",\"text\":\"the first\"}\n{\"id\":\"2\",\"text\":\"the second\"}\n",
    );
    let mut both = [watching.change(), watching.change()];
    both.sort();
    assert_eq!(both, [pair("ingested", "1"), pair("ingested", "2")]);
    place.save("r.jsonl", "{\"id\":\"2\",\"text\":\"the second\"}\n");
    assert_eq!(watching.change(), pair("removed", "1"));
    let broken = place.write("broken.md", "");
    assert_eq!(watching.change(), pair("failed", &broken));
    place.save("broken.md", "It was repaired.");
    assert_eq!(watching.change(), pair("ingested", &broken));
    let picture = place.save("picture.png", "\u{89}PNG\0");
    watching.until("skipped", 1);

    let (status, summary) = watching.stop();
    assert_eq!(
        (status, &summary["event"], &summary["failed"]),
        (Some(0), &"summary".into(), &serde_json::json!({})),
        "{summary}"
    );
    let skipped = summary["skipped"].as_object().unwrap();
    assert!(skipped.keys().eq([picture.as_str()]), "{summary}");
    let leave = fs::canonicalize(place.docs.path().join("leave.md")).unwrap();
    assert_eq!(place.listed(), [&broken, leave.to_str().unwrap(), &moved, "2"]);
}

#[test]
fn a_burst_of_thousands_of_files_is_followed_to_its_end() {
    const FILES: u64 = 2500;
    let place = Place::new();
    let mut watching = Watching::start(&place, &[]);
    assert_eq!(watching.next()["event"], "watching");
    let folder = place.docs.path().join("burst");
    fs::create_dir(&folder).unwrap();
    for number in 0..FILES {
        fs::write(folder.join(format!("{number}.txt")), format!("text number {number}")).unwrap();
    }
    watching.until("ingested", FILES);
    fs::rename(&folder, place.docs.path().join("moved")).unwrap();
    watching.until("removed", FILES);
    fs::remove_dir_all(place.docs.path().join("moved")).unwrap();
    watching.until("removed", FILES);
    assert_eq!(watching.stop().0, Some(0));
    assert_eq!(place.listed().len(), 1, "nothing is left behind");
}

#[test]
fn a_folder_that_is_gone_ends_the_watch_and_removes_nothing() {
    let place = Place::new();
    let folder = place.docs.path().join("sub");
    place.write("sub/a.md", "A text that stays stored.");
    let mut command = place.emend(&["ingest", "--watch", "--json", folder.to_str().unwrap()]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("watching"));
    fs::remove_dir_all(&folder).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("is gone; nothing was removed"),
        "{}",
        stderr(&output)
    );
    assert_eq!(place.listed().len(), 1);
}

/// Passes connections on to an address that may change, or to nobody. Returns its own.
fn forwarded(to: &Arc<Mutex<Option<String>>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let to = Arc::clone(to);
    thread::spawn(move || {
        for here in listener.incoming().map_while(Result::ok) {
            let target = to.lock().unwrap().clone();
            let Some(there) = target.and_then(|target| TcpStream::connect(target).ok()) else {
                continue;
            };
            for (mut from, mut to) in [(here.try_clone().unwrap(), there.try_clone().unwrap()), (there, here)] {
                thread::spawn(move || {
                    let _ = io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
    format!("http://{address}")
}

#[test]
fn a_watch_waits_for_a_retriever_that_does_not_answer() {
    let place = Place::new();
    let data = place.data.path().join("collections");
    let start = || {
        let up = ["up", "--base-port", "0", "--data-dir", data.to_str().unwrap()];
        let mut up = place.emend(&up).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(up.stdout.take().unwrap()).lines().map(Result::unwrap);
        let retriever = lines
            .find_map(|line| Some(line.strip_prefix("retriever")?.trim().to_owned()))
            .unwrap();
        // Whoever reads no more must not end it.
        thread::spawn(move || lines.for_each(drop));
        (up, retriever.trim_start_matches("http://").to_owned())
    };
    let end = |mut up: Child| assert!(super::terminate(&up) && up.wait().unwrap().success());
    let (up, address) = start();
    let retriever = Arc::new(Mutex::new(Some(address)));
    let mut watching = Watching::start(&place, &["--url", &forwarded(&retriever)]);
    assert_eq!(watching.next()["event"], "watching");
    *retriever.lock().unwrap() = None;
    end(up);
    let created = place.save("new.md", "It is written while nothing answers.");
    let (up, address) = start();
    *retriever.lock().unwrap() = Some(address);
    assert_eq!(watching.change(), pair("ingested", &created));
    assert_eq!(watching.stop().0, Some(0));
    end(up);
}

//! Walks that were recorded: shown as a tree, and walked again without a call.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use serde_json::Value;

use super::{ASKED, Place, stderr, stdout};

/// A place with a recorded walk in a file.
fn recorded(graph: &str, format: &str) -> (Place, PathBuf) {
    let place = Place::new();
    let walked = place.ask(&["--graph", graph, format, "--", ASKED]);
    assert_eq!(walked.status.code(), Some(0), "{}", stderr(&walked));
    let file = place.data.path().join("walk.json");
    fs::write(&file, &walked.stdout).unwrap();
    // Nothing is there any more that could be asked.
    fs::remove_dir_all(place.docs.path()).unwrap();
    fs::create_dir(place.docs.path()).unwrap();
    (place, file)
}

fn run(place: &Place, command: &str, file: &Path, more: &[&str]) -> Output {
    let arguments = [&[command, file.to_str().unwrap()], more].concat();
    place.emend(&arguments).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap()
}

#[test]
fn a_walk_is_shown_as_a_tree_and_replayed_from_either_form() {
    for format in ["--json", "--json=events"] {
        let (place, file) = recorded("self-rag", format);
        let shown = run(&place, "trace", &file, &[]);
        let tree = stdout(&shown);
        assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
        assert!(tree.starts_with(ASKED), "{tree}");
        for expected in [
            "├─  1 retrieve",
            "│  └─ Retrieve",
            "│  ├─ Grade",
            "└─ answered by self-rag in 4 steps",
        ] {
            assert!(tree.contains(expected), "no `{expected}` in {tree}");
        }
        assert!(
            tree.contains('█') && tree.contains('▒') && !tree.contains('\u{1b}'),
            "{tree}"
        );

        let again = run(&place, "replay", &file, &[]);
        let out = stdout(&again);
        assert_eq!(again.status.code(), Some(0), "{out}{}", stderr(&again));
        assert!(out.contains("the path is that of the record\nends answered\n"), "{out}");
    }
}

#[test]
fn a_walk_from_standard_input_is_read() {
    let (place, file) = recorded("plain-rag", "--json");
    for command in ["trace", "replay"] {
        let mut reading = place.emend(&[command, "-"]);
        let mut child = reading
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(&fs::read(&file).unwrap())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}

#[test]
fn another_threshold_turns_the_path_and_the_record_ends_where_it_has_no_reply() {
    let (place, file) = recorded("self-corrective-rag", "--json");
    let turned = run(&place, "replay", &file, &["--threshold", "relevant=1"]);
    let out = stdout(&turned);
    assert_eq!(turned.status.code(), Some(6), "{out}{}", stderr(&turned));
    for expected in [
        "the path turned at step 2 `grade_documents`: `none_relevant` (recorded: `all_relevant`), and so to `rewrite`",
        "here the record ends: step 3 `rewrite` calls Rewrite: the record has no query",
    ] {
        assert!(out.contains(expected), "no `{expected}` in {out}");
    }

    let turned = run(
        &place,
        "replay",
        &file,
        &[
            "--threshold",
            "relevant=1",
            "--option",
            "max_rewrites=0",
            "--option",
            "web_fallback=0",
            "--json",
        ],
    );
    assert_eq!(turned.status.code(), Some(0), "{}{}", stdout(&turned), stderr(&turned));
    let replayed = json(&turned);
    assert_eq!(replayed["turn"]["step"], 2, "{replayed}");
    let end = &replayed["events"].as_array().unwrap().last().unwrap()["finished"];
    assert_eq!(end["status"], "WALK_STATUS_ABSTAINED", "{end}");

    let shown = place
        .emend(&["graph", "show", "plain-rag", "--format", "yaml"])
        .output()
        .unwrap();
    let mine = place.data.path().join("mine.yaml");
    fs::write(&mine, stdout(&shown).replace("name: plain-rag", "name: mine")).unwrap();
    for graph in ["plain-rag", mine.to_str().unwrap()] {
        let other = run(&place, "replay", &file, &["--graph", graph]);
        assert_eq!(other.status.code(), Some(0), "{}{}", stdout(&other), stderr(&other));
        assert!(
            stdout(&other).contains("the path turned at step 1 `retrieve`"),
            "{}",
            stdout(&other)
        );
    }
}

#[test]
fn thresholds_of_a_coefficients_file_are_held_against_the_record() {
    let (place, file) = recorded("self-rag", "--json");
    let built_in = include_str!("../../../shared/evaluator/src/coefficients/lexical.toml");
    let mine = place.data.path().join("mine.toml");
    let strict = built_in.replace("relevant = 0.307", "relevant = 1.0");
    assert_ne!(strict, built_in);
    fs::write(&mine, strict).unwrap();
    let turned = run(&place, "replay", &file, &["--coefficients", mine.to_str().unwrap()]);
    assert!(
        stdout(&turned).contains("turned at step 2"),
        "{}{}",
        stdout(&turned),
        stderr(&turned)
    );
}

#[test]
fn what_is_no_walk_or_cannot_be_replayed_is_refused() {
    let (place, file) = recorded("plain-rag", "--json");
    let walk = fs::read_to_string(&file).unwrap();
    let mut without: Value = serde_json::from_str(&walk).unwrap();
    let mut newer = without.clone();
    without.as_object_mut().unwrap().remove("record");
    newer["record"]["version"] = 2.into();
    let refused = |text: &str, commands: &[&str], more: &[&str], says: &str| {
        fs::write(&file, text).unwrap();
        for command in commands {
            let output = run(&place, command, &file, more);
            let err = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{command}: {}{err}", stdout(&output));
            assert!(err.contains(says), "{command}: no `{says}` in {err}");
        }
    };
    let both = ["trace", "replay"];
    refused(&walk[..walk.len() / 2], &both, &[], "breaks off in line");
    refused("words", &both, &[], "not JSON");
    refused("{\"answer\": \"x\"}", &both, &[], "emend ask --json");
    refused(&newer.to_string(), &both, &[], "version 2, and this release reads 1");
    refused(&without.to_string(), &["replay"], &[], "ask with `record` set");
    refused(
        &walk,
        &["replay"],
        &["--threshold", "relevent=1"],
        "did you mean `relevant`",
    );
    refused(
        &walk,
        &["replay"],
        &["--threshold", "relevant=2"],
        "must be 0 to 1, is 2",
    );
    refused(&walk, &["replay"], &["--option", "top_q=1"], "top_q");
    refused(&walk, &["replay"], &["--graph", "plain-rga"], "plain-rag");
    assert_eq!(
        run(&place, "trace", &file.with_extension("none"), &[]).status.code(),
        Some(1)
    );
}

//! `emend eval` on a set of five questions.

use std::{fs, path::Path, process::Output};

use serde_json::Value;

use super::{Place, stderr, stdout};

const BAKERY: &str = "The village bakery sells rye bread on Tuesdays. Its oven is heated with birch wood.";
const LIGHTHOUSE: &str = "The Torvik lighthouse was built in 1873 by the engineer Ansgar Lund. It stands on a granite \
    skerry north of the harbour.";

/// A folder with the set `village`.
fn data() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, lines: &[Value]| {
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(folder.path().join(format!("village.{name}.jsonl")), lines).unwrap();
    };
    let document = |id: &str, text: &str| serde_json::json!({"doc_id": id, "title": id, "text": text});
    write("corpus_local", &[document("bakery", BAKERY)]);
    write("corpus_web", &[document("lighthouse", LIGHTHOUSE)]);
    let question = |id: &str, expect: &str, question: &str, answers: &[&str], gold: &[&str]| {
        serde_json::json!({
            "id": id, "lang": "en", "expect": expect, "question": question, "answers": answers, "gold_doc_ids": gold,
        })
    };
    write(
        "questions",
        &[
            question(
                "bread",
                "local",
                "What does the village bakery sell on Tuesdays?",
                &["ＲＹＥ bread"],
                &["bakery"],
            ),
            question(
                "wood",
                "local",
                "With what wood is the oven of the bakery heated?",
                &["birch"],
                &["bakery"],
            ),
            question(
                "lamp",
                "web",
                "Who built the Torvik lighthouse in <1873>?",
                &["Ansgar Lund"],
                &["lighthouse"],
            ),
            question("comet", "none", "Which comet passes Jupiter's moons?", &[], &[]),
            question("moon", "none", "Which astronaut walked over Saturn's rings?", &[], &[]),
        ],
    );
    folder
}

fn eval(place: &Place, data: &Path, more: &[&str]) -> Output {
    let arguments = [&["eval", "qa", "--data", data.to_str().unwrap()], more].concat();
    place.emend(&arguments).output().unwrap()
}

/// The names of all members in a JSON value.
fn names(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(members) => {
            let below = members.iter().flat_map(|(name, member)| {
                let mut all = names(member);
                all.push(name);
                all
            });
            below.collect()
        }
        Value::Array(items) => items.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn two_graphs_are_compared_on_every_kind_of_question() {
    let (place, data) = (Place::new(), data());
    let (page, lines) = (data.path().join("report.html"), data.path().join("walks.jsonl"));
    let files = [
        "--html",
        page.to_str().unwrap(),
        "--out",
        lines.to_str().unwrap(),
        "--json",
    ];
    let output = eval(&place, data.path(), &files);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(
        report["graphs"],
        serde_json::json!(["plain-rag", "self-corrective-rag"])
    );
    let named_otherwise: Vec<&str> = names(&report).into_iter().filter(|name| name.contains('_')).collect();
    assert!(named_otherwise.is_empty(), "{named_otherwise:?}");
    assert_eq!(
        (&report["partial"], &report["embedder"]),
        (&false.into(), &"hashed".into())
    );
    assert_eq!(report["sets"][0]["questions"], 5);
    assert_eq!(report["groups"][0]["retrieval"]["hitAt1"]["share"], 1.0);
    let kinds = report["groups"][0]["kinds"].as_array().unwrap();
    let found = |expect: &str, graph: usize| {
        let kind = kinds.iter().find(|kind| kind["expect"] == expect).unwrap();
        kind["graphs"][graph].clone()
    };
    for (graph, name) in ["plain-rag", "self-corrective-rag"].into_iter().enumerate() {
        let all = found("all", graph);
        assert_eq!((&all["graph"], &all["questions"]), (&name.into(), &5.into()));
        assert_eq!(all["errors"]["count"], 0, "{}", report["failures"]);
        assert_eq!(found("local", graph)["correct"]["count"], 2, "{name}");
        assert!(all["latencyP95Ms"].as_f64() >= all["latencyP50Ms"].as_f64());
    }
    // The baseline says that it does not know, too, but has no web.
    let (plain, corrective) = (found("all", 0), found("all", 1));
    assert_eq!(
        (&plain["correct"]["count"], &plain["webUsed"]["count"]),
        (&4.into(), &0.into())
    );
    assert_eq!((&plain["stepsMax"], &plain["difference"]), (&2.into(), &Value::Null));
    assert_eq!(corrective["correct"]["count"], 5, "{corrective}");
    assert_eq!(corrective["webRightly"]["count"], 1);
    assert_eq!(corrective["abstainedRightly"]["count"], 2);
    let difference = &corrective["difference"];
    assert_eq!((&difference["better"], &difference["worse"]), (&1.into(), &0.into()));
    assert!((difference["points"].as_f64().unwrap() - 20.0).abs() < 1e-9);

    let lines = fs::read_to_string(lines).unwrap();
    let walks: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(walks.len(), 10);
    let lamp = walks
        .iter()
        .find(|walk| walk["id"] == "lamp" && walk["graph"] == "self-corrective-rag")
        .unwrap();
    assert_eq!((&lamp["correct"], &lamp["webUsed"]), (&true.into(), &true.into()));
    assert!(lamp["answer"].as_str().unwrap().contains("Ansgar Lund"));
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("in &lt;1873&gt;?") && !page.contains("<1873"));
    assert!(page.contains("village (5 questions)"));
}

#[test]
fn the_table_of_a_sample_has_no_colours_in_a_pipe() {
    let (place, data) = (Place::new(), data());
    let output = eval(&place, data.path(), &["--graphs", "plain-rag", "--limit", "3"]);
    let out = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(out.contains("village: 3 of 5 questions; documents: 1"), "{out}");
    assert!(out.contains("hit@1 100.0 %"), "{out}");
    for kind in ["local", "web", "none"] {
        let row = out
            .lines()
            .find(|line| line.contains(kind) && line.contains(" 1 "))
            .unwrap_or_default();
        assert!(!row.is_empty(), "one of each kind: {out}");
    }
    assert!(!out.contains('\u{1b}'));
}

#[test]
fn walks_that_fail_are_counted_and_end_nothing() {
    let (place, data) = (Place::new(), data());
    let output = eval(
        &place,
        data.path(),
        &["--graphs", "plain-rag", "--timeout", "1us", "--json"],
    );
    assert_eq!(output.status.code(), Some(1), "no walk ended: {}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let kinds = report["groups"][0]["kinds"].as_array().unwrap();
    let all = &kinds.last().unwrap()["graphs"][0];
    assert_eq!(
        (&all["errors"]["count"], &all["correct"]["count"]),
        (&5.into(), &0.into())
    );
    assert_eq!(all["latencyP50Ms"], Value::Null);
    assert!(
        report["failures"][0]["message"].as_str().unwrap().contains("Deadline"),
        "{}",
        report["failures"]
    );
}

#[test]
fn what_cannot_work_is_said_before_anything_is_measured() {
    let (place, data) = (Place::new(), data());
    for (arguments, said) in [
        (&["--graphs", "plain-rag,self-rug"][..], "self-rag"),
        (&["--graphs", "plain-rag,plain-rag"], "twice"),
        (&["--set", "town"], "known: village"),
        (&["--out", "/nowhere/walks.jsonl"], "cannot write /nowhere/walks.jsonl"),
        (&["--html", "/nowhere/page.html"], "cannot write /nowhere/page.html"),
    ] {
        let output = eval(&place, data.path(), arguments);
        let err = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {err}");
        assert!(err.contains(said), "{arguments:?}: {err}");
        assert_eq!(stdout(&output), "");
    }
}

#[test]
fn what_the_retriever_finds_is_written_as_pairs_that_calibrate_reads() {
    let (place, data) = (Place::new(), data());
    let out = data.path().join("pairs");
    let (folder, out) = (data.path().to_str().unwrap(), out.to_str().unwrap());
    let output = place
        .emend(&["eval", "pairs", "--data", folder, "--out", out])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "village: 5 pairs for relevance, 5 for answer\n");
    let lines = fs::read_to_string(format!("{out}/relevance/village.jsonl")).unwrap();
    let relevant: Vec<bool> = lines
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["relevant"]
                .as_bool()
                .unwrap()
        })
        .collect();
    // The only passage holds the answers to the first two, of which one is written in other letters.
    assert_eq!(relevant, [false, true, false, false, false]);
    let coefficients = format!("{out}/mine.toml");
    let (relevance, answer) = (
        format!("{out}/relevance/village.jsonl"),
        format!("{out}/answer/village.jsonl"),
    );
    let arguments = [
        "calibrate",
        "--relevance",
        &relevance,
        "--answer",
        &answer,
        "--out",
        &coefficients,
    ];
    let output = place.emend(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("all (not fitted)"), "{}", stdout(&output));
}

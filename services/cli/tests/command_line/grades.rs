//! `emend calibrate` and `emend eval grades` on pairs that the tests make up.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{ASKED, Place, stderr, stdout};

/// `relevance/made.jsonl` with 30 questions, each with a passage that answers it and one about something else.
fn pairs(folder: &Path) -> String {
    let own = folder.join("relevance");
    fs::create_dir(&own).unwrap();
    let lines = (0..30).flat_map(|n| {
        let question = format!("When was bridge number {n} of Norden opened?");
        let right = format!("Bridge number {n} of Norden was opened in {}. It is made of oak.", 1900 + n);
        let wrong = format!("Roses stand along wall {n}. They are cut back in March.");
        [(right, true), (wrong, false)].map(|(passage, relevant)| {
            json!({"query": question, "passage": passage, "relevant": relevant, "lang": "en", "constructed": n % 2 == 0})
        })
    });
    let file = own.join("made.jsonl");
    fs::write(&file, lines.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn calibration_writes_a_file_that_a_walk_then_uses() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let file = pairs(folder.path());
    let (out, page) = (folder.path().join("mine.toml"), folder.path().join("mine.html"));
    let (out, page) = (out.to_str().unwrap(), page.to_str().unwrap());
    let arguments = [
        "calibrate",
        "--relevance",
        &file,
        "--out",
        out,
        "--diagram",
        page,
        "--data-source",
        "Made up.",
    ];
    let output = place.emend(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        ["relevance", "made, human", "made, constructed", "written to"]
            .iter()
            .all(|words| stdout(&output).contains(words)),
        "{}",
        stdout(&output)
    );
    let written = fs::read_to_string(out).unwrap();
    assert!(
        written.contains("# - relevance: made, 30 pairs\n# - relevance: made, constructed, 30 pairs\n# Made up.\n"),
        "{written}"
    );
    assert!(fs::read_to_string(page).unwrap().contains("<svg"));

    let docs = place.docs.path().to_str().unwrap();
    let walk = |file: &str| {
        let mut ask = place.emend(&["ask", "--docs", docs, "--graph", "self-rag", "--json", ASKED]);
        ask.env("EMEND_EVALUATOR_COEFFICIENTS", file).output().unwrap()
    };
    // What is fitted to bridges knows little about leave; the thresholds decide.
    let with = |relevant: &str, lower: &str, upper: &str| {
        let lines = written.lines().map(|line| match line.split_once(" = ") {
            Some(("relevant", _)) => format!("relevant = {relevant}"),
            Some(("lower", _)) => format!("lower = {lower}"),
            Some(("upper", _)) => format!("upper = {upper}"),
            _ => line.to_owned(),
        });
        fs::write(out, lines.collect::<Vec<_>>().join("\n")).unwrap();
        walk(out)
    };
    let loose = with("0.0", "0.0", "0.0");
    assert_eq!(loose.status.code(), Some(0), "{}", stderr(&loose));
    let strict = with("1.0", "1.0", "1.0");
    assert_eq!(
        strict.status.code(),
        Some(3),
        "a passage that no threshold lets pass is used: {}",
        stdout(&strict)
    );
    fs::write(out, "[thresholds]").unwrap();
    let broken = walk(out);
    assert_eq!(broken.status.code(), Some(1));
    assert!(stderr(&broken).contains("mine.toml"), "{}", stderr(&broken));
}

#[test]
fn what_cannot_be_calibrated_is_said() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let few = folder.path().join("few.jsonl");
    fs::write(&few, "{\"question\":\"q\",\"passage\":\"p\"}\n").unwrap();
    let run = |arguments: &[&str]| place.emend(arguments).output().unwrap();
    let output = run(&["calibrate", "--relevance", few.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("few.jsonl:1") && stderr(&output).contains("`relevant`"),
        "{}",
        stderr(&output)
    );
    assert_eq!(run(&["calibrate"]).status.code(), Some(2), "no pairs at all");
    let output = run(&[
        "calibrate",
        "--relevance",
        few.to_str().unwrap(),
        "--target-precision",
        "2",
    ]);
    assert!(
        output.status.code() == Some(2) && stderr(&output).contains("0.5 to 1"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn wrong_pairs_that_were_made_up_are_ranked_against_right_ones_of_people() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("usefulness");
    fs::create_dir(&own).unwrap();
    let lines = (0..10).flat_map(|n| {
        let question = format!("When was bridge number {n} opened?");
        let right = format!("Bridge number {n} was opened in {}.", 1900 + n);
        [
            (right, true, false),
            ("Bridges are old.".to_owned(), false, false),
            ("Roses stand along the wall.".to_owned(), false, true),
        ]
        .map(|(answer, useful, made)| {
            format!(
                "{}\n",
                json!({"question": question, "answer": answer, "useful": useful, "constructed": made})
            )
        })
    });
    fs::write(own.join("made.jsonl"), lines.collect::<String>()).unwrap();
    let data = folder.path().to_str().unwrap();
    let page = folder.path().join("page.html");
    let diagram = ["--diagram", page.to_str().unwrap()];
    let output = place
        .emend(&[&["eval", "grades", "--data", data, "--json"], &diagram[..]].concat())
        .output()
        .unwrap();
    let rows: Vec<Value> = serde_json::from_str(&stdout(&output)).unwrap();
    let seen: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["labels"].as_str().unwrap(),
                row["pairs"].as_u64().unwrap(),
                row["rocAuc"].is_number(),
            )
        })
        .collect();
    let expected = [("human", 20, true), ("constructed", 10, false), ("mixed", 20, true)];
    assert_eq!(seen, expected, "{rows:?}");
    let page = fs::read_to_string(page).unwrap();
    assert_eq!(
        page.matches("stroke=\"var(--c").count(),
        2,
        "one label alone has no curve: {page}"
    );
}

#[test]
fn grades_are_compared_with_their_labels_by_kind() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    pairs(folder.path());
    let data = folder.path().to_str().unwrap();
    let output = place
        .emend(&["eval", "grades", "--data", data, "--json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows: Vec<Value> = serde_json::from_str(&stdout(&output)).unwrap();
    let kinds: Vec<_> = rows
        .iter()
        .map(|row| (row["labels"].as_str().unwrap(), row["pairs"].as_u64().unwrap()))
        .collect();
    assert_eq!(kinds, [("human", 30), ("constructed", 30)]);
    assert!(
        rows.iter()
            .all(|row| row["rocAuc"].as_f64().unwrap() > 0.9 && row["lang"] != "ko"),
        "{rows:?}"
    );
    let output = place.emend(&["eval", "grades", "--data", data]).output().unwrap();
    assert!(
        stdout(&output).lines().count() == 3 && stdout(&output).contains("AUC"),
        "{}",
        stdout(&output)
    );
    let empty = tempfile::tempdir().unwrap();
    let output = place
        .emend(&["eval", "grades", "--data", empty.path().to_str().unwrap()])
        .output()
        .unwrap();
    assert!(
        output.status.code() == Some(1) && stderr(&output).contains("relevance/NAME.jsonl"),
        "{}",
        stderr(&output)
    );
}

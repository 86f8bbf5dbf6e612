//! The real binary, as a user and as a script runs it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ask;
mod browser;
mod budget;
mod clients;
mod collections;
#[cfg(unix)]
mod conversation;
mod environment;
mod eval;
mod gateway_clients;
mod grades;
mod graphs;
mod ingest;
mod pages;
mod pdf;
mod readme;
#[cfg(unix)]
mod recipes;
mod replay;
mod security;
#[cfg(unix)]
mod setup;
mod silent;
#[cfg(target_os = "linux")]
mod stream;
mod terminal;
mod up;

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Output, Stdio},
};

const LEAVE: &str = "# Leave\n\nEvery employee has 25 days of paid leave a year. Leave is approved by the team lead.\n\n\
    # Travel\n\nTrains are booked in second class. Receipts are kept for two years.\n";
const ASKED: &str = "How many days of paid leave does every employee have?";

/// A folder with documents, and one for everything that the command keeps.
struct Place {
    docs: tempfile::TempDir,
    data: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self {
            docs: tempfile::tempdir().unwrap(),
            data: tempfile::tempdir().unwrap(),
        };
        fs::write(place.docs.path().join("leave.md"), LEAVE).unwrap();
        place
    }

    fn emend(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_emend"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.data.path())
            .env("EMEND_EMBEDDER", "hashed");
        command
    }

    fn ask(&self, more: &[&str]) -> Output {
        let docs = self.docs.path().to_str().unwrap();
        let arguments = [&["ask", "--docs", docs], more].concat();
        self.emend(&arguments).output().unwrap()
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn an_answer_goes_to_standard_output_and_the_steps_to_standard_error() {
    let place = Place::new();
    let output = place.ask(&["--", ASKED]);
    let (out, err) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    assert!(out.contains("25 days of paid leave a year. [1]"), "{out}");
    assert!(out.contains("leave.md"), "the file is cited: {out}");
    assert!(
        err.contains("1 ingested") && err.contains("retrieve") && err.contains("generate"),
        "{err}"
    );
    assert!(
        !out.contains('\u{1b}') && !err.contains('\u{1b}'),
        "no colours in a pipe"
    );

    let again = place.ask(&["--", ASKED]);
    assert!(stderr(&again).contains("1 unchanged"), "{}", stderr(&again));
}

#[test]
fn json_is_one_object_on_standard_output() {
    let place = Place::new();
    let output = place.ask(&["--json", "--graph", "self-rag", "--", ASKED]);
    let result: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(result["graph"], "self-rag");
    assert!(result["answer"].as_str().unwrap().contains("25 days"), "{result}");
    assert_eq!(result["steps"][0]["node"], "retrieve");

    let output = place.ask(&["--json=events", "--", ASKED]);
    let events: Vec<serde_json::Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(events[0].get("stepStarted").is_some(), "{}", events[0]);
    assert!(events.last().unwrap().get("finished").is_some());
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let place = Place::new();
    let docs = place.docs.path().to_str().unwrap();
    for format in ["--json", "--json=events"] {
        let mut asking = place.emend(&["ask", "--docs", docs, format, "--", ASKED]);
        let mut child = asking.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(!stderr(&output).contains("error"), "{}", stderr(&output));
    }
}

#[test]
fn abstaining_has_an_exit_status_of_its_own() {
    let place = Place::new();
    let output = place.ask(&["--graph", "self-rag", "--", "Which comet passes near Jupiter?"]);
    assert_eq!(output.status.code(), Some(3), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("abstained"), "{}", stdout(&output));
}

#[test]
fn a_file_that_is_gone_is_forgotten() {
    let place = Place::new();
    fs::write(
        place.docs.path().join("old.md"),
        "The canteen closes at three in the afternoon.",
    )
    .unwrap();
    let asked = ["--graph", "plain-rag", "--", "When does the canteen close?"];
    assert!(stdout(&place.ask(&asked)).contains("three in the afternoon"));
    fs::remove_file(place.docs.path().join("old.md")).unwrap();
    let output = place.ask(&asked);
    assert!(stderr(&output).contains("1 removed"), "{}", stderr(&output));
    assert!(
        !stdout(&output).contains("three in the afternoon"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn wrong_use_says_what_is_wrong() {
    let place = Place::new();
    let refused = |arguments: &[&str], code: i32, says: &[&str]| {
        let output = place.emend(arguments).output().unwrap();
        let err = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {err}");
        for text in says {
            assert!(err.contains(text), "{arguments:?} does not say `{text}`: {err}");
        }
        assert!(stdout(&output).is_empty(), "{arguments:?}");
    };
    let docs = place.docs.path().to_str().unwrap();
    let nothing = tempfile::tempdir().unwrap();
    fs::write(nothing.path().join("photo.png"), b"\x89PNG").unwrap();
    refused(&["ask", "--dosc", docs, "Why?"], 2, &["--dosc", "--docs"]);
    refused(
        &["ask", "--docs", "/no/such/folder", "--", "Why?"],
        1,
        &["/no/such/folder"],
    );
    refused(
        &["ask", "--docs", nothing.path().to_str().unwrap(), "--", "Why?"],
        1,
        &["no readable document"],
    );
    for empty in [&["ask", "--docs", docs, ""][..], &["ask", "--docs", docs, "--", " "]] {
        refused(empty, 2, &["the question is empty: give it as the last word"]);
    }
    refused(
        &["ask", "--docs", docs, "--graph", "self-rga", "--", "Why?"],
        1,
        &["self-rga", "self-rag"],
    );
    refused(&["ask", "--docs", docs, "-k", "0", "--", "Why?"], 1, &["top_k"]);
    refused(&["ask", "--docs", docs, "-k", "1000", "--", "Why?"], 1, &["top_k"]);
    refused(&["ask", "--collection", "nowhere", "--", "Why?"], 1, &["nowhere"]);
    refused(
        &["ask", "--url", "http://127.0.0.1:1", "--", "Why?"],
        1,
        &["127.0.0.1:1"],
    );
    refused(&["graph", "show", "self-rga"], 1, &["self-rag"]);
}

#[test]
fn documents_that_cannot_be_read_are_named_and_the_rest_is_used() {
    let place = Place::new();
    fs::write(place.docs.path().join("report.txt"), b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n").unwrap();
    fs::write(place.docs.path().join("broken.txt"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    fs::write(place.docs.path().join("chart.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    let output = place.ask(&["--", ASKED]);
    let err = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(
        err.contains("2 failed") && err.contains("report.txt") && err.contains("broken.txt"),
        "{err}"
    );
    assert!(err.contains("skipped: 1 image (.png) (-v names them)"), "{err}");
}

#[test]
fn a_conversation_goes_on_in_its_file() {
    let place = Place::new();
    let file = place.data.path().join("chat.json");
    let history = file.to_str().unwrap();
    let messages = || -> Vec<serde_json::Value> { serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap() };

    let first = place.ask(&["--history", history, "--", ASKED]);
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    assert!(!stderr(&first).contains("condense"), "{}", stderr(&first));
    assert_eq!(messages().len(), 2);
    assert_eq!(messages()[0]["content"], ASKED);
    assert!(messages()[1]["content"].as_str().unwrap().contains("25 days"));

    let second = place.ask(&["--history", history, "--", "And who approves it?"]);
    let (out, err) = (stdout(&second), stderr(&second));
    assert!(
        err.contains("condense") && err.contains("question: And who approves it? → "),
        "{err}"
    );
    assert!(out.contains("asked as: And who approves it?"), "{out}");
    assert_eq!(messages().len(), 4);
    assert_eq!(messages()[2]["content"], "And who approves it?");

    let failed = place.ask(&["--history", history, "--option", "max_cuont=1", "--", "Why?"]);
    assert_eq!(failed.status.code(), Some(1));
    assert_eq!(messages().len(), 4, "an error adds nothing");

    let many: Vec<_> = std::iter::repeat_n(messages(), 13).flatten().collect();
    fs::write(&file, serde_json::to_string(&many).unwrap()).unwrap();
    let cut = place.ask(&["--history", history, "--", "And who approves it?"]);
    assert!(
        stderr(&cut).contains("the latest 50 of 52 messages are sent"),
        "{}",
        stderr(&cut)
    );
    assert_eq!(messages().len(), 54);

    fs::write(&file, "[{\"role\": \"user\"}").unwrap();
    let broken = place.ask(&["--history", history, "--", ASKED]);
    let err = stderr(&broken);
    assert_eq!(broken.status.code(), Some(1));
    assert!(
        err.contains("chat.json is not a valid conversation") && err.contains("\"role\": \"assistant\""),
        "{err}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "[{\"role\": \"user\"}");
}

#[test]
fn a_budget_ends_a_walk_with_what_there_is_and_says_what_ran_out() {
    let place = Place::new();
    let ask = |budget: &[&str]| {
        let output = place.ask(&[&["--graph", "self-rag"], budget, &["--", ASKED]].concat());
        (output.status.code(), stdout(&output))
    };
    let (code, out) = ask(&["--max-steps", "3"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(
        out.contains("25 days") && out.contains("unverified (out of steps)"),
        "{out}"
    );
    let (code, out) = ask(&["--max-model-calls", "1"]);
    assert_eq!(code, Some(3), "{out}");
    assert!(
        out.contains("abstained (out of model calls)") && out.contains("the budget of 1 model call leaves 0"),
        "{out}"
    );
    let (code, out) = ask(&["--max-steps", "100", "--max-tokens", "100000", "--max-time", "30s"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("answered by self-rag"), "{out}");

    let output = place.ask(&["--graph", "self-rag", "--max-tokens", "0", "--json", "--", ASKED]);
    let result: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(result["exhausted"], "LIMIT_TOKENS");
    let output = place.ask(&[
        "--graph",
        "corrective-rag",
        "--max-web-searches",
        "0",
        "--json",
        "--",
        "Which comet?",
    ]);
    let result: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(result["exhausted"], "LIMIT_WEB_SEARCHES", "{}", stdout(&output));
}

#[test]
fn a_running_cluster_takes_documents_and_questions_and_ends_on_sigterm() {
    let place = Place::new();
    let data = place.data.path().join("collections");
    let mut up = place
        .emend(&["up", "--base-port", "0", "--data-dir", data.to_str().unwrap()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(up.stdout.take().unwrap()).lines();
    let mut urls = std::collections::HashMap::new();
    while urls.len() < 7 {
        let line = lines.next().expect("seven addresses").unwrap();
        assert_eq!(
            urls.is_empty(),
            line.starts_with("gateway "),
            "the first line is the gateway's: {line}"
        );
        if let [name, url] = line.split_whitespace().collect::<Vec<_>>()[..] {
            urls.insert(name.to_owned(), url.to_owned());
        }
    }
    let health = |arguments: &[&str]| {
        let output = place.emend(&[&["health"], arguments].concat()).output().unwrap();
        (output.status.code(), stdout(&output), stderr(&output))
    };
    for url in urls.values() {
        let address = url.trim_start_matches("http://");
        assert_eq!(health(&[address]), (Some(0), "SERVING\n".to_owned(), String::new()));
    }
    let grader = urls["grader"].as_str();
    assert_eq!(health(&[grader, "--service", "emend.v1.GraderService"]).0, Some(0));
    let (code, _, error) = health(&[grader, "--service", "emend.v1.Gradar"]);
    assert!(
        code == Some(1) && error.contains("has no service `emend.v1.Gradar`"),
        "{error}"
    );

    let docs = place.docs.path().to_str().unwrap();
    let arguments = [
        "ingest",
        "--url",
        &urls["retriever"],
        "--collection",
        "handbook",
        "--json",
        docs,
    ];
    let stored = place.emend(&arguments).output().unwrap();
    let outcome: serde_json::Value = serde_json::from_str(&stdout(&stored)).expect("JSON");
    assert_eq!(outcome["ingested"], 1, "{}", stderr(&stored));
    let arguments = [
        "ask",
        "--url",
        &urls["orchestrator"],
        "--collection",
        "handbook",
        "--",
        ASKED,
    ];
    let answered = place.emend(&arguments).output().unwrap();
    assert!(
        stdout(&answered).contains("25 days"),
        "{}{}",
        stdout(&answered),
        stderr(&answered)
    );

    let file = graphs::own_graph(&place);
    let arguments = [
        "ask",
        "--url",
        &urls["orchestrator"],
        "--collection",
        "handbook",
        "--graph-file",
        &file,
        "--",
        ASKED,
    ];
    let walked = stdout(&place.emend(&arguments).output().unwrap());
    assert!(
        walked.contains("25 days") && walked.contains("by mine in 2 steps"),
        "{walked}"
    );

    assert!(terminate(&up));
    let status = up.wait().unwrap();
    assert_eq!(status.code(), Some(0), "SIGTERM is a clean end");
    let (code, _, error) = health(&[grader, "--timeout", "300ms"]);
    assert!(
        code == Some(1) && error.contains("does not say whether it serves"),
        "{error}"
    );
    assert!(Path::new(&data).is_dir());
}

fn terminate(child: &std::process::Child) -> bool {
    Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status()
        .is_ok_and(|status| status.success())
}

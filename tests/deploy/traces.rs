//! A walk of each graph through the real binaries, read in a real Jaeger: one trace, from the command line to every service.

mod jaeger;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use emend_testkit::process::Process;
use jaeger::Jaeger;
use serde_json::Value;
use tempfile::TempDir;

use crate::chart::list;
use crate::peer;

const LIGHTHOUSE: &str = "The Torvik lighthouse was built in 1873 by the engineer Ansgar Lund.";
const BREAD: &str = "# Bread\n\nThe village bakery sells rye bread on Tuesdays.";

/// The graphs, each with a question, and the services that its walk calls.
const WALKS: [(&str, &str, &[&str]); 8] = [
    (
        "plain-rag",
        "Who built the Torvik lighthouse in 1873?",
        &["retriever", "generator"],
    ),
    (
        "self-rag",
        "Who built the Torvik lighthouse in 1873?",
        &["retriever", "grader", "generator"],
    ),
    (
        "self-rag-final-grade",
        "Who built the Torvik lighthouse in 1873?",
        &["retriever", "grader", "generator"],
    ),
    (
        "self-rag-tutorial",
        "Who built the Torvik lighthouse in 1873?",
        &["retriever", "grader", "generator"],
    ),
    ("corrective-rag", "When is rye bread sold?", &ALL),
    ("corrective-rag-binary", "When is rye bread sold?", &ALL),
    ("self-corrective-rag", "When is rye bread sold?", &ALL),
    (
        "self-reflective-rag",
        "Who built the Torvik lighthouse in 1873?",
        &["retriever", "grader", "generator"],
    ),
];
const ALL: [&str; 5] = ["retriever", "grader", "generator", "rewriter", "web-search"];

/// Builds the binaries where they are not built, and says in which folder they are: two above this program.
fn binaries() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let folder = program.ancestors().nth(2).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    // With all packages and a test among them everything has the features that it has in `cargo test --workspace`, and is
    // not built twice.
    cargo.args(["build", "--quiet", "--workspace", "--bins", "--test", "deploy"]);
    // What it tells a test of its package, build scripts would take for theirs, and build anew.
    let of_package = [
        "CARGO_PKG_",
        "CARGO_MANIFEST_",
        "CARGO_BIN_",
        "CARGO_CRATE_",
        "OUT_DIR",
        "LD_LIBRARY_PATH",
    ];
    for (name, _) in std::env::vars_os() {
        if of_package.iter().any(|begin| name.to_string_lossy().starts_with(begin)) {
            cargo.env_remove(name);
        }
    }
    let target = folder.parent().unwrap();
    let built = cargo
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_TARGET_DIR", target)
        .status();
    assert!(built.unwrap().success(), "the binaries cannot be built");
    folder.to_owned()
}

/// The six of them.
struct Services {
    binaries: PathBuf,
    collector: String,
    orchestrator: Process,
    others: Vec<Process>,
    data: TempDir,
}

impl Services {
    fn start(binaries: PathBuf, collector: SocketAddr) -> Self {
        let data = tempfile::tempdir().unwrap();
        std::fs::create_dir(data.path().join("pages")).unwrap();
        std::fs::write(data.path().join("pages/bread.md"), BREAD).unwrap();
        std::fs::write(data.path().join("lighthouse.md"), LIGHTHOUSE).unwrap();
        let collector = format!("http://{collector}");
        let (store, pages) = (path(&data, "store"), path(&data, "pages"));
        let start = |name: &str, arguments: &[&str]| {
            let mut command = told(&binaries.join(format!("emend-{name}")), &collector);
            command.args(["--listen", "127.0.0.1:0"]).args(arguments);
            Process::start_logging(&mut command).unwrap()
        };
        let others: Vec<Process> = ALL
            .iter()
            .map(|name| match *name {
                "retriever" => start(name, &["--data-dir", &store, "--embedder", "hashed"]),
                "grader" | "generator" => start(name, &["--embedder", "hashed"]),
                "web-search" => start(name, &["--folder", &pages]),
                name => start(name, &[]),
            })
            .collect();
        let urls = ALL
            .iter()
            .zip(&others)
            .map(|(name, process)| format!("--{name}-url={}", process.url()));
        let urls: Vec<String> = urls.collect();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        let orchestrator = start("orchestrator", &urls);
        Self {
            binaries,
            collector,
            orchestrator,
            others,
            data,
        }
    }

    fn emend(&self, arguments: &[&str]) -> Output {
        let mut command = told(&self.binaries.join("emend"), &self.collector);
        let output = command.args(arguments).env("HOME", self.data.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        output
    }
}

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

/// A program with nothing of this shell's environment, that sends what it has to the collector soon.
fn told(program: &Path, collector: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    command.env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", collector);
    command.env("OTEL_BSP_SCHEDULE_DELAY", "100");
    command
}

/// What is wrong with a trace as Jaeger tells it: spans without their parent, and its own warnings.
fn problems(trace: &Value) -> Vec<String> {
    let known: BTreeSet<&str> = list(&trace["spans"])
        .filter_map(|span| span["spanID"].as_str())
        .collect();
    let mut problems = Vec::new();
    let mut roots = 0;
    for span in list(&trace["spans"]) {
        let parents = list(&span["references"]).filter(|reference| reference["refType"] == "CHILD_OF");
        let parents: Vec<&str> = parents.filter_map(|reference| reference["spanID"].as_str()).collect();
        roots += usize::from(parents.is_empty());
        for parent in parents {
            if !known.contains(parent) {
                problems.push(format!("{} has lost its parent", span["operationName"]));
            }
        }
        problems.extend(list(&span["warnings"]).map(|warning| format!("{}: {warning}", span["operationName"])));
    }
    problems.extend(list(&trace["warnings"]).map(Value::to_string));
    if roots != 1 {
        problems.push(format!("{roots} roots"));
    }
    problems
}

/// The services that a trace has spans of.
fn services(trace: &Value) -> BTreeSet<String> {
    let processes = trace["processes"].as_object().unwrap().values();
    processes
        .map(|process| process["serviceName"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_walk_of_each_graph_is_one_trace_in_jaeger() {
    let Some(program) = peer("jaeger/jaeger") else { return };
    let jaeger = Jaeger::start(&program).await;
    let running = Services::start(binaries(), jaeger.collector());
    let retriever = running.others[0].url();
    running.emend(&[
        "ingest",
        "--url",
        &retriever,
        "-c",
        "village",
        &path(&running.data, "lighthouse.md"),
    ]);
    let orchestrator = running.orchestrator.url();
    for (graph, question, called) in WALKS {
        let ask = [
            "ask",
            "--url",
            &orchestrator,
            "-c",
            "village",
            "--graph",
            graph,
            "--json",
            "--",
            question,
        ];
        let answer: Value = serde_json::from_slice(&running.emend(&ask).stdout).unwrap();
        let id = answer["traceId"].as_str().unwrap();
        let wanted = ["emend".to_owned(), "emend-orchestrator".to_owned()].into_iter();
        let wanted: BTreeSet<String> = wanted
            .chain(called.iter().map(|name| format!("emend-{name}")))
            .collect();
        // Each process sends its spans by itself: the trace is there when the last of them has.
        let is_whole = |trace: &Value| services(trace) == wanted && problems(trace).is_empty();
        let trace = jaeger.trace(id, is_whole).await;
        assert_eq!(problems(&trace), Vec::<String>::new(), "{graph}");
        assert_eq!(services(&trace), wanted, "{graph}");
        // The steps of the walk are in it, and how it ended.
        let named = |name: &str| list(&trace["spans"]).any(|span| span["operationName"] == name);
        assert!(named(&format!("invoke_workflow {graph}")), "{graph}");
        for step in list(&answer["steps"]) {
            assert!(named(step["node"].as_str().unwrap()), "{graph}: {}", step["node"]);
        }
        // It is found by what `deploy/README.md` says to look for.
        let status = answer["status"].as_str().unwrap().trim_start_matches("WALK_STATUS_");
        let found = jaeger
            .search("emend-orchestrator", &[("emend.walk.status", status)])
            .await;
        assert!(found.contains(id), "{graph}: no {status} among {found:?}");
    }
}

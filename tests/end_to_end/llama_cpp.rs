//! Every graph with a real llama.cpp server behind the grader, the generator and the rewriter. Its model has random
//! weights, so what it says is noise, but noise within the grammar that llama.cpp makes of each schema: every grade is
//! read, and every reply ends. `tests/peers.sh` installs the server.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use emend_cli::cluster::Plan;
use emend_proto::v1::{ListGraphsRequest, Relevance, WalkStatus};
use emend_testkit::tiny_gguf::Tiny;
use emend_tests::{Fixture, PATIENCE, question};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

const LIGHTHOUSE: &str = "The Torvik lighthouse was built in 1873 by the engineer Ansgar Lund. It stands on a granite \
    skerry north of the harbour.";
const BAKERY: &str = "The village bakery sells rye bread on Tuesdays.";

/// The Python that has the package, if it is installed.
fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder));
    let folder = target.join("peers/llama-cpp");
    folder.join("installed").exists().then(|| folder.join("bin/python"))
}

/// Starts the server. Returns its process, which ends when it is dropped, and its address.
#[expect(clippy::expect_used, reason = "what a test cannot have fails it")]
async fn serve(python: &Path, model: &Path) -> (Child, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("end_to_end/llama_cpp.py");
    let mut server = Command::new(python)
        .arg(script)
        .arg(model)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("python starts");
    let mut lines = BufReader::new(server.stdout.take().expect("its output")).lines();
    let mut address = String::new();
    while !address.starts_with("http") {
        let line = tokio::time::timeout(PATIENCE, lines.next_line())
            .await
            .expect("a line in time");
        address = line.expect("its output").expect("an address before it ends");
    }
    (server, address)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_graph_walks_with_llama_cpp() {
    let Some(python) = python() else {
        println!("NOT RUN: llama.cpp is not installed; tests/peers.sh installs it");
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let model = folder.path().join("tiny.gguf");
    let tiny = Tiny {
        context: 1 << 15,
        template: Some("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"),
        ..Tiny::default()
    };
    tiny.write(&model);
    let (_server, address) = serve(&python, &model).await;
    let pages = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(pages.path().join("lund.md"), "Ansgar Lund was an engineer.").expect("a page");
    let flags = [
        "--generator",
        "llm",
        "--rewriter",
        "llm",
        "--grader",
        "llm",
        "--llm-url",
        &address,
        "--llm-model",
        "tiny",
        "--llm-max-tokens",
        "256",
        "--llm-seed",
        "7",
        "--web-folder",
        pages.path().to_str().expect("a UTF-8 path"),
    ];
    let fixture = Fixture::with_flags(Plan::default(), &flags).await;
    fixture
        .ingest("village", &[("lighthouse", LIGHTHOUSE), ("bakery", BAKERY)])
        .await;
    let graphs = fixture.orchestrator().list_graphs(ListGraphsRequest {}).await;
    let graphs = graphs.expect("the graphs").into_inner().graphs;
    assert_eq!(graphs.len(), 8);
    for graph in graphs {
        let name = graph.name.as_str();
        let asked = question("Who built the Torvik lighthouse in 1873?", name, "village");
        let result = fixture.ask(asked).await.expect(name);
        assert_ne!(result.status(), WalkStatus::Failed, "{name}: {result:?}");
        let most = graph.worst_case.expect("a worst case").steps as usize;
        assert!(
            result.steps.len() <= most,
            "{name}: {} steps of {most}",
            result.steps.len()
        );
        for step in &result.steps {
            assert_eq!(step.error, "", "{name}: {step:?}");
            for graded in step.passages.iter().filter(|_| step.action.contains("grade_documents")) {
                assert_ne!(graded.relevance(), Relevance::Ungraded, "{name}: {step:?}");
            }
        }
    }
    fixture.cluster.stop().await;
}

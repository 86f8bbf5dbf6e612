//! The services as processes: this program again, in another role.

use std::{
    io,
    net::SocketAddr,
    process::{Command, ExitCode},
    thread,
};

use emend_chassis::{Upstream, request, run};
use emend_core::Deadline;
use emend_proto::v1::{
    AskStreamRequest, IngestStatus, Question, WalkResult, orchestrator_service_client::OrchestratorServiceClient,
    retriever_service_client::RetrieverServiceClient, walk_event::Event,
};
use emend_testkit::{language_model::LanguageModel, process::Process};
use emend_tests::{PATIENCE, document};
use futures::stream;
use tempfile::TempDir;
use tokio::sync::watch;
use tonic::Status;

/// The variable that says which service this program is.
const ROLE: &str = "EMEND_TESTS_ROLE";
/// Calls that a service takes at once.
pub(crate) const MAX_IN_FLIGHT: usize = 32;
/// The services, the orchestrator last.
pub(crate) const NAMES: [&str; 6] = [
    "retriever",
    "grader",
    "generator",
    "rewriter",
    "web-search",
    "orchestrator",
];

/// Is a service if it was started as one, until it is told to stop or whoever started it is gone.
pub(crate) fn in_role() -> Option<ExitCode> {
    let role = std::env::var(ROLE).ok()?;
    thread::spawn(|| {
        // An error is an end too.
        drop(io::copy(&mut io::stdin().lock(), &mut io::sink()));
        std::process::exit(0);
    });
    Some(match role.as_str() {
        "retriever" => run::<emend_retriever::Options, _, _>("emend-retriever", emend_retriever::serve),
        "grader" => run::<emend_grader::Options, _, _>("emend-grader", emend_grader::serve),
        "generator" => run::<emend_generator::Options, _, _>("emend-generator", emend_generator::serve),
        "rewriter" => run::<emend_rewriter::Options, _, _>("emend-rewriter", emend_rewriter::serve),
        "web-search" => run::<emend_web_search::Options, _, _>("emend-web-search", emend_web_search::serve),
        "orchestrator" => run::<emend_orchestrator::Options, _, _>("emend-orchestrator", emend_orchestrator::serve),
        other => panic!("there is no role {other}"),
    })
}

/// A service in a process of its own, which can be ended and started again where it was.
pub(crate) struct Service {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    arguments: Vec<String>,
    process: Option<Process>,
}

impl Service {
    /// On a free port.
    pub(crate) fn start(name: &'static str, arguments: &[&str]) -> Self {
        let mut service = Self {
            name,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            process: None,
        };
        service.restart();
        service
    }

    /// Again, where it was.
    pub(crate) fn restart(&mut self) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        // Whatever this shell has for other purposes: options, proxies, collectors.
        command.env_clear().env(ROLE, self.name);
        command.args([
            "--listen",
            &self.address.to_string(),
            "--log",
            "warn,emend_chassis::server=info",
        ]);
        command.args(["--max-in-flight", &MAX_IN_FLIGHT.to_string()]);
        let process = Process::start_logging(command.args(&self.arguments)).unwrap();
        self.address = process.address();
        self.process = Some(process);
    }

    /// The process, which runs or is stopped.
    pub(crate) fn process(&self) -> &Process {
        self.process.as_ref().unwrap()
    }

    /// Ends it as a crash does.
    pub(crate) fn kill(&mut self) {
        self.process = None;
    }

    /// Ends it as an orderly stop does: the calls that it has end well.
    pub(crate) async fn drain(&mut self) {
        let process = self.process.take().unwrap();
        process.signal("TERM").unwrap();
        let ended = tokio::task::spawn_blocking(|| process.wait()).await.unwrap().unwrap();
        assert!(ended.success(), "{}: {ended}", self.name);
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// The arguments of a service that asks this model.
pub(crate) fn with_model<'a>(model: &'a str, backend: &'a str) -> [&'a str; 6] {
    ["--backend", backend, "--llm-url", model, "--llm-model", "stand-in"]
}

/// The five services that an orchestrator asks, over two documents and a page of the web, with a model that takes its
/// time. A walk of [`GRAPH`](crate::outcome::GRAPH) asks each of them.
pub(crate) struct Services {
    pub(crate) all: Vec<Service>,
    _model: LanguageModel,
    _data: [TempDir; 2],
}

impl Services {
    pub(crate) async fn start(model: LanguageModel) -> Self {
        let [data, pages] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let page = "# Bread\n\nThe bakery of Torvik sells rye bread on Tuesdays.";
        std::fs::write(pages.path().join("bread.md"), page).unwrap();
        let url = model.url();
        let [folder, web] = [&data, &pages].map(|folder| folder.path().to_str().unwrap());
        let grader = [&with_model(&url, "llm")[..], &["--grade-cache-entries", "0"]].concat();
        let all = vec![
            Service::start("retriever", &["--embedder", "hashed", "--data-dir", folder]),
            Service::start("grader", &grader),
            Service::start("generator", &with_model(&url, "openai")),
            Service::start("rewriter", &[]),
            Service::start("web-search", &["--folder", web]),
        ];
        ingest(&all[0].url()).await;
        Self {
            all,
            _model: model,
            _data: [data, pages],
        }
    }

    /// The arguments of an orchestrator that finds them at these addresses.
    pub(crate) fn found_at(addresses: &[String]) -> Vec<String> {
        let flags = NAMES.iter().map(|name| format!("--{name}-url"));
        flags
            .zip(addresses)
            .flat_map(|(flag, url)| [flag, url.clone()])
            .collect()
    }

    /// An orchestrator that finds them where they are.
    pub(crate) fn orchestrator(&self) -> Service {
        let urls: Vec<_> = self.all.iter().map(Service::url).collect();
        let arguments = Self::found_at(&urls);
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        Service::start("orchestrator", &arguments)
    }
}

/// Stores what questions are about, and something else.
pub(crate) async fn ingest(retriever: &str) {
    let documents = [
        (
            "lighthouse",
            "The Torvik lighthouse was built in 1873 by the engineer Ansgar Lund.",
        ),
        (
            "hedges",
            "A hedge is cut twice a year, before the birds begin to nest and after they have left.",
        ),
    ];
    let requests = documents.map(|(id, text)| document("village", id, text));
    let upstream = Upstream::new(retriever).unwrap();
    let mut answers = RetrieverServiceClient::new(upstream.channel())
        .ingest(stream::iter(requests))
        .await
        .unwrap()
        .into_inner();
    let mut stored = 0;
    while let Some(answer) = answers.message().await.unwrap() {
        assert_eq!(answer.status(), IngestStatus::Ingested, "{answer:?}");
        stored += 1;
    }
    assert_eq!(stored, documents.len());
}

/// Walks the graph of a question within `deadline`; `steps` counts those that begin. What hangs fails the test.
pub(crate) async fn walk(
    upstream: &Upstream,
    question: Question,
    deadline: Deadline,
    steps: &watch::Sender<usize>,
) -> Result<WalkResult, Status> {
    let asked = AskStreamRequest {
        question: Some(question),
    };
    let walked = async {
        let mut client = OrchestratorServiceClient::new(upstream.channel());
        let mut events = client.ask_stream(request(asked, deadline)).await?.into_inner();
        loop {
            let event = events.message().await?;
            match event.and_then(|event| event.event).and_then(|event| event.event) {
                Some(Event::StepStarted(_)) => steps.send_modify(|steps| *steps += 1),
                Some(Event::Finished(result)) => return Ok(result),
                Some(_) => {}
                None => panic!("a walk ended without a result"),
            }
        }
    };
    tokio::time::timeout(PATIENCE, walked).await.expect("a walk hangs")
}

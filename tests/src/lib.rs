//! What the end-to-end tests share: the six services in this process, and what is asked of them.

use std::path::Path;

use clap::Parser as _;
use emend_chassis::TracedChannel;
use emend_cli::{
    args::{Arguments, Command, LocalOptions},
    cluster::{Cluster, Component, Plan},
};
use emend_core::Deadline;
use emend_proto::v1::{
    AskRequest, AskStreamRequest, Document, IngestRequest, IngestResponse, Question, WalkEvent, WalkResult,
    generator_service_client::GeneratorServiceClient, grader_service_client::GraderServiceClient,
    orchestrator_service_client::OrchestratorServiceClient, retriever_service_client::RetrieverServiceClient,
    walk_event::Event,
};
use tonic::Status;

/// A bound on everything, so that a hang fails a test; nothing takes near as long.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// The six services with the tiny deterministic embedder and an empty data folder.
pub struct Fixture {
    pub cluster: Cluster,
    _data: tempfile::TempDir,
}

#[expect(clippy::expect_used, clippy::panic, reason = "what a test cannot have fails it")]
impl Fixture {
    /// All six services.
    pub async fn start() -> Self {
        Self::start_with(Plan::default(), None).await
    }

    /// As `plan` says, with a folder of pages for the web.
    pub async fn start_with(plan: Plan, web: Option<&Path>) -> Self {
        let folder = web.map(|folder| folder.to_str().expect("a UTF-8 path"));
        let flags = folder.map_or(vec![], |folder| vec!["--web-folder", folder]);
        Self::with_flags(plan, &flags).await
    }

    /// As `plan` and these flags say.
    pub async fn with_flags(plan: Plan, flags: &[&str]) -> Self {
        let data = tempfile::tempdir().expect("a temporary folder");
        let local = local_options(data.path(), flags);
        let cluster = Cluster::start(&local, plan).await.expect("the services start");
        Self { cluster, _data: data }
    }

    pub fn orchestrator(&self) -> OrchestratorServiceClient<TracedChannel> {
        OrchestratorServiceClient::new(self.channel(Component::Orchestrator))
    }

    pub fn retriever(&self) -> RetrieverServiceClient<TracedChannel> {
        RetrieverServiceClient::new(self.channel(Component::Retriever))
    }

    pub fn grader(&self) -> GraderServiceClient<TracedChannel> {
        GraderServiceClient::new(self.channel(Component::Grader))
    }

    pub fn generator(&self) -> GeneratorServiceClient<TracedChannel> {
        GeneratorServiceClient::new(self.channel(Component::Generator))
    }

    fn channel(&self, component: Component) -> TracedChannel {
        self.cluster.channel(component).expect("it runs")
    }

    /// Stores texts, each under its name, in a collection.
    pub async fn ingest(&self, collection: &str, texts: &[(&str, &str)]) -> Vec<IngestResponse> {
        let requests: Vec<_> = texts.iter().map(|(id, text)| document(collection, id, text)).collect();
        let mut answers = self
            .retriever()
            .ingest(futures::stream::iter(requests))
            .await
            .expect("the stream is accepted")
            .into_inner();
        let mut all = Vec::new();
        while let Some(answer) = answers.message().await.expect("no document ends the stream") {
            all.push(answer);
        }
        all
    }

    /// The whole result of a walk.
    pub async fn ask(&self, question: Question) -> Result<WalkResult, Status> {
        let request = emend_chassis::request(
            AskRequest {
                question: Some(question),
            },
            Deadline::after(PATIENCE),
        );
        let answer = self.orchestrator().ask(request).await?;
        Ok(answer.into_inner().result.expect("a result"))
    }

    /// The events of a walk, and its result.
    pub async fn ask_stream(&self, question: Question) -> Result<(Vec<WalkEvent>, WalkResult), Status> {
        let request = emend_chassis::request(
            AskStreamRequest {
                question: Some(question),
            },
            Deadline::after(PATIENCE),
        );
        let mut stream = self.orchestrator().ask_stream(request).await?.into_inner();
        let mut events = Vec::new();
        while let Some(event) = stream.message().await? {
            events.push(event.event.expect("an event"));
        }
        match events.last().and_then(|event| event.event.clone()) {
            Some(Event::Finished(result)) => Ok((events, result)),
            other => panic!("the last event is {other:?}"),
        }
    }
}

/// Options with these flags, the embedder `hashed` where they name none, and everything else at its default.
#[expect(clippy::expect_used, reason = "what a test cannot have fails it")]
pub fn local_options(data: &Path, flags: &[&str]) -> LocalOptions {
    let data = data.to_str().expect("a UTF-8 path");
    let arguments = ["emend", "up", "--data-dir", data];
    let embedder: &[&str] = if flags.contains(&"--embedder") {
        &[]
    } else {
        &["--embedder", "hashed"]
    };
    match Arguments::parse_from(arguments.iter().chain(embedder).chain(flags)).command {
        Command::Up(options) => options.local,
        _ => unreachable!("parsed `up`"),
    }
}

/// A question to a graph over a collection.
pub fn question(text: &str, graph: &str, collection: &str) -> Question {
    Question {
        question: text.to_owned(),
        graph: graph.to_owned(),
        collection: collection.to_owned(),
        ..Question::default()
    }
}

/// One document of an ingest.
pub fn document(collection: &str, id: &str, text: &str) -> IngestRequest {
    IngestRequest {
        collection: collection.to_owned(),
        document: Some(Document {
            id: id.to_owned(),
            content: text.as_bytes().to_vec(),
            ..Document::default()
        }),
        ..IngestRequest::default()
    }
}

/// The fields that an INVALID_ARGUMENT names.
#[expect(clippy::expect_used, reason = "what a test cannot have fails it")]
pub fn violated(status: &Status) -> Vec<String> {
    use tonic_types::StatusExt as _;
    assert_eq!(status.code(), tonic::Code::InvalidArgument, "{status:?}");
    let details = status.get_error_details();
    let bad = details.bad_request().expect("a BadRequest");
    let mut fields: Vec<_> = bad
        .field_violations
        .iter()
        .map(|violation| violation.field.clone())
        .collect();
    fields.sort();
    fields
}

//! The six real services as processes, over a collection of passages.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use emend_proto::v1::{Document, IngestRequest, IngestStatus, retriever_service_client::RetrieverServiceClient};
use emend_testkit::process::Process;
use futures::stream;
use tempfile::TempDir;
use tonic::transport::Endpoint;

use crate::{Arguments, Failure, standin::MODEL};

/// The collection of the passages.
pub(crate) const COLLECTION: &str = "hedges";

/// Calls and requests at the same time that nothing here reaches: what is measured is speed, not admission.
const UNBOUNDED: &str = "1024";

/// The names of the services, the orchestrator last.
pub(crate) const NAMES: [&str; 6] = [
    "retriever",
    "grader",
    "generator",
    "rewriter",
    "web-search",
    "orchestrator",
];

/// The text of a passage: about 500 bytes, no two alike.
pub(crate) fn passage(number: usize) -> String {
    const WHAT: [&str; 13] = [
        "Fallen leaves",
        "Pruned twigs",
        "A layer of bark",
        "Straw",
        "Old compost",
        "Wood chips",
        "Grass cuttings",
        "A mat of wool",
        "Pine needles",
        "Ground cover",
        "Leaf mould",
        "Shredded paper",
        "Cocoa husks",
    ];
    const DOES: [&str; 7] = ["keep", "shade", "cool", "feed", "loosen", "protect", "cover"];
    const WHERE: [&str; 11] = [
        "the soil under a hedge",
        "the bed of roses",
        "young trees",
        "the roots of the vine",
        "the border of herbs",
        "the slope",
        "the rows of beans",
        "the strawberries",
        "the path",
        "the pots on the terrace",
        "the north side",
    ];
    const WHEN: [&str; 5] = [
        "in a dry summer",
        "after frost",
        "in the first year",
        "until autumn",
        "while it rains little",
    ];
    // No two are equal: texts that are would all tie, and the search would have to look at every one.
    let pick = |of: &'static [&'static str], turn: usize| of[(number * (turn + 2) + turn * turn) % of.len()];
    let sentences = (1..=5).map(|turn| {
        let (what, does, whither, when) = (
            pick(&WHAT, turn),
            pick(&DOES, turn),
            pick(&WHERE, turn + number % 3),
            pick(&WHEN, turn),
        );
        format!(" {what} {does} {whither} moist {when}.")
    });
    format!("Bed {number} of the garden.{}", sentences.collect::<String>())
}

/// Builds the services where they are not built, and says in which folder they are: two above this program.
pub(crate) fn build() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe()?;
    let folder = program
        .ancestors()
        .nth(2)
        .ok_or("this program is in no target folder")?;
    let mut cargo = Command::new(env!("CARGO"));
    // With this package among them everything has the features that it had for this program, and is not built twice.
    cargo.args(["build", "--release", "--quiet", "-p", env!("CARGO_PKG_NAME")]);
    for name in NAMES {
        cargo.args(["-p", &format!("emend-{name}")]);
    }
    let target = folder.parent().ok_or("this program is in no target folder")?;
    crate::progress("building the six services");
    let status = cargo
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_TARGET_DIR", target)
        .status()?;
    if status.success() {
        Ok(folder.to_owned())
    } else {
        Err(format!("the services cannot be built: cargo ended with {status}").into())
    }
}

/// The six of them and their data. They end when this is dropped.
pub(crate) struct Services {
    /// In the order of [`NAMES`].
    processes: Vec<Process>,
    _data: TempDir,
}

impl Services {
    /// Starts the binaries of a folder with the model at an address, and ingests the passages.
    pub(crate) async fn start(binaries: &Path, model: &str, options: &Arguments) -> Result<Services, Failure> {
        let data = tempfile::tempdir()?;
        let folder = data
            .path()
            .to_str()
            .ok_or("the folder for temporary files is not UTF-8")?;
        let model = format!("{model}/v1");
        // Where they listen is said at `info` whatever else is.
        let log = format!(
            "{0},emend_chassis::server::trace={0},emend_chassis::server=info",
            options.log
        );
        let start = |name: &str, arguments: &[&str]| -> Result<Process, Failure> {
            let mut command = Command::new(binaries.join(format!("emend-{name}")));
            // Whatever this shell has for other purposes: options, proxies, collectors.
            command.env_clear();
            command.args(["--listen", "127.0.0.1:0", "--max-in-flight", UNBOUNDED, "--log", &log]);
            Ok(Process::start_logging(command.args(arguments))?)
        };
        let llm = [
            "--llm-url",
            &model,
            "--llm-model",
            MODEL,
            "--llm-concurrency",
            UNBOUNDED,
        ];
        let embedder = format!("openai:{MODEL}");
        let mut processes = vec![
            start(
                "retriever",
                &[
                    "--data-dir",
                    folder,
                    "--embedder",
                    &embedder,
                    "--embedder-url",
                    &model,
                    "--embedder-cache-mib",
                    "0",
                    "--ingest-in-flight",
                    "32",
                ],
            )?,
            start(
                "grader",
                &[&llm[..], &["--backend", "llm", "--grade-cache-entries", "0"]].concat(),
            )?,
            start("generator", &[&llm[..], &["--backend", "openai"]].concat())?,
            start("rewriter", &[])?,
            start("web-search", &[])?,
        ];
        let urls: Vec<String> = processes.iter().map(Process::url).collect();
        let flags = NAMES.map(|name| format!("--{name}-url"));
        let arguments: Vec<&str> = flags
            .iter()
            .zip(&urls)
            .flat_map(|(flag, url)| [flag.as_str(), url])
            .collect();
        processes.push(start("orchestrator", &arguments)?);
        ingest(urls.first().cloned().unwrap_or_default(), options.passages).await?;
        Ok(Services { processes, _data: data })
    }

    /// The orchestrator's address.
    pub(crate) fn url(&self) -> String {
        self.processes.last().map(Process::url).unwrap_or_default()
    }

    /// Processor time of each so far, in the order of [`NAMES`].
    pub(crate) fn cpu(&self) -> Vec<Duration> {
        self.processes
            .iter()
            .map(|process| process.cpu().unwrap_or_default())
            .collect()
    }
}

async fn ingest(retriever: String, passages: usize) -> Result<(), Failure> {
    crate::progress(&format!("ingesting {passages} passages"));
    let requests: Vec<IngestRequest> = (0..passages)
        .map(|number| IngestRequest {
            collection: COLLECTION.to_owned(),
            document: Some(Document {
                id: format!("bed-{number}"),
                content: passage(number).into_bytes(),
                ..Document::default()
            }),
            ..IngestRequest::default()
        })
        .collect();
    let mut client = RetrieverServiceClient::new(Endpoint::from_shared(retriever)?.connect().await?);
    let mut acknowledged = client.ingest(stream::iter(requests)).await?.into_inner();
    let mut stored = 0;
    while let Some(response) = acknowledged.message().await? {
        if response.status() != IngestStatus::Ingested {
            return Err(format!("{} was not stored: {}", response.document_id, response.error).into());
        }
        stored += 1;
    }
    if stored == passages {
        Ok(())
    } else {
        Err(format!("{stored} of {passages} passages were stored").into())
    }
}

//! `emend ask`: asks a question and shows the walk and the answer.

mod history;
mod local;
mod question;

use emend_core::limits::{MAX_GRAPH_BYTES, MAX_MESSAGE_BYTES};
use std::{
    collections::HashMap,
    fs,
    io::IsTerminal as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result, bail};
use emend_chassis::TracedChannel;
use emend_core::Deadline;
use emend_orchestrator::{catalog::Catalog, graph::Graph};
use emend_proto::v1::{
    AskStreamRequest, Question, SearchMode, WalkResult, WalkStatus,
    orchestrator_service_client::OrchestratorServiceClient, walk_event::Event,
};
use sha2::{Digest as _, Sha256};
use tracing::Instrument as _;

use self::history::Conversation;
use crate::{
    args::{AskOptions, Json},
    cluster::{Cluster, Component, Plan},
    documents::Reading,
    ingest::{self, Prune},
    json, render, terminal,
};

/// Exit status of an error.
const ERROR: u8 = 1;
/// Exit status of an invalid command line, as in clap.
const MISUSED: u8 = 2;
/// Exit status if the answer is an abstention.
const ABSTAINED: u8 = 3;
/// Exit status if there is no answer because a service failed.
const FAILED: u8 = 4;

/// What is wrong with the command line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Misuse(String);

/// The input, read and validated before any service is started.
struct Asked {
    question: String,
    /// The YAML of the user's graph; empty to use a graph of the service.
    graph_yaml: String,
    conversation: Option<Conversation>,
}

impl Asked {
    fn new(options: &AskOptions, question: String) -> Result<Self> {
        let graph_yaml = match &options.graph_file {
            Some(file) => own_graph(file)?,
            None => String::new(),
        };
        let conversation = options.history.as_deref().map(Conversation::read).transpose()?;
        Ok(Self {
            question,
            graph_yaml,
            conversation,
        })
    }

    fn message(&self, options: &AskOptions, collection: String) -> Question {
        let mut graph_options: HashMap<String, f64> = options.options.iter().cloned().collect();
        if let Some(top_k) = options.top_k {
            graph_options.insert("top_k".to_owned(), top_k.into());
        }
        if let Some(max_retries) = options.max_retries {
            graph_options.insert("max_retries".to_owned(), max_retries.into());
        }
        let history = self.conversation.as_ref().map(Conversation::sent).unwrap_or_default();
        if !history.notice.is_empty() {
            terminal::eprintln(format_args!("history: {}", history.notice));
        }
        Question {
            question: self.question.clone(),
            graph: if self.graph_yaml.is_empty() {
                options.graph.clone()
            } else {
                String::new()
            },
            graph_yaml: self.graph_yaml.clone(),
            collection,
            options: graph_options,
            filter: HashMap::new(),
            history: history.messages,
            budget: options.budget.message(),
            search: options.search.map(SearchMode::from).unwrap_or_default().into(),
        }
    }
}

/// Reads and validates a graph file.
fn own_graph(file: &Path) -> Result<String> {
    let name = file.display().to_string();
    let yaml = fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
    if yaml.len() > MAX_GRAPH_BYTES {
        bail!(
            "{name} has {} bytes, more than the limit of {MAX_GRAPH_BYTES} for a graph",
            yaml.len()
        );
    }
    Graph::parse(&name, &yaml)?;
    Ok(yaml)
}

/// Runs the command. With `--json`, an error is printed as JSON too.
///
/// # Errors
/// Without `--json`: the documents cannot be read, a service fails to start or is unreachable, or the question is
/// rejected.
pub async fn run(options: AskOptions) -> Result<ExitCode> {
    let format = options.json;
    let error = match asked(options).await {
        Ok(code) => return Ok(code),
        Err(error) => error,
    };
    let code = match error.downcast_ref::<Misuse>() {
        Some(_) => MISUSED,
        None if format.is_none() || render::reader_left(&error) => return Err(error),
        None => ERROR,
    };
    render::error(&error);
    match format {
        None => {}
        Some(Json::Result) => terminal::print_json(&render::error_json(&error), true)?,
        Some(Json::Events) => terminal::print_json(&render::error_json(&error), false)?,
    }
    Ok(ExitCode::from(code))
}

async fn asked(options: AskOptions) -> Result<ExitCode> {
    let (word, docs) = options.question_and_docs().map_err(Misuse)?;
    let question = question::read(word, std::io::stdin().lock()).map_err(Misuse)?;
    let asked = Asked::new(&options, question)?;
    let span = tracing::info_span!(target: "emend", "emend ask", otel.kind = "internal");
    async {
        match &options.url {
            Some(url) => {
                let question = asked.message(&options, options.collection.clone().unwrap_or_default());
                let channel = options.connect.upstream(url)?.channel();
                let answered = ask(channel, &options, &asked, question).await;
                answered.map_err(|error| not_an_orchestrator(url, error))
            }
            None => ask_locally(&options, &asked, &docs).await,
        }
    }
    .instrument(span)
    .await
}

/// What to do where no orchestrator answers at the URL; any other error as it is.
fn not_an_orchestrator(url: &str, error: anyhow::Error) -> anyhow::Error {
    let Some(status) = error.downcast_ref::<tonic::Status>() else {
        return error;
    };
    let advice = "give --url the address of the orchestrator that `emend up` prints";
    let message = match status.code() {
        tonic::Code::Unimplemented => {
            format!("{url} is not an orchestrator: what answers there takes no questions; {advice}")
        }
        tonic::Code::Unavailable => {
            format!(
                "{}; it is down, or {url} is not an orchestrator: {advice}",
                status.message()
            )
        }
        _ => return error,
    };
    tonic::Status::with_details(status.code(), message, status.details().to_vec().into()).into()
}

async fn ask_locally(options: &AskOptions, asked: &Asked, docs: &[PathBuf]) -> Result<ExitCode> {
    let collection = match (&options.collection, docs) {
        (Some(name), _) => name.clone(),
        (None, []) => String::new(),
        (None, docs) => collection_of(docs, &options.local.embedder.embedder.to_string())?,
    };
    let question = asked.message(options, collection.clone());
    // What is wrong with the question must not cost the time to ingest the documents.
    let catalog = Catalog::load(options.local.graphs_dir.as_deref())?;
    emend_orchestrator::check(&catalog, question.clone()).await?;
    let found = match docs {
        [] => None,
        paths => Some(ingest::found(paths, &Reading::default())?),
    };
    let local = Cluster::start(&options.local, Plan::default()).await?;
    let answered = async {
        if let Some(found) = found {
            // An automatic collection mirrors the files; one that the user named may have other documents.
            let prune = match options.collection {
                None => Prune::Everything,
                Some(_) => Prune::Nothing,
            };
            let outcome = ingest::ingest(local.channel(Component::Retriever)?, &collection, found, prune).await?;
            let quiet = options.json.is_some() && outcome.failed.is_empty();
            if !quiet {
                ingest::report(&outcome);
            }
            if outcome.ingested + outcome.unchanged == 0 {
                bail!("no document could be stored; see the reasons above");
            }
        }
        ask(local.channel(Component::Orchestrator)?, options, asked, question).await
    }
    .await;
    local.stop().await;
    answered
}

async fn ask(channel: TracedChannel, options: &AskOptions, asked: &Asked, question: Question) -> Result<ExitCode> {
    let request = AskStreamRequest {
        question: Some(question),
    };
    let request = emend_chassis::request(request, Deadline::after(options.deadline()));
    let mut events = OrchestratorServiceClient::new(channel)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES)
        .ask_stream(request)
        .await?
        .into_inner();
    let mut live = render::Live::new();
    let mut result = None;
    while let Some(event) = events.message().await? {
        let Some(mut event) = event.event else { continue };
        match options.json {
            None => {
                if options.url.is_none() {
                    event.event.iter_mut().for_each(local::advise);
                }
                live.show(&event);
            }
            Some(Json::Events) => terminal::print_json(&json::value("WalkEvent", &event)?, false)?,
            Some(Json::Result) => {}
        }
        if let Some(Event::Finished(finished)) = event.event {
            result = Some(finished);
        }
    }
    let result = result.context("the orchestrator ended the stream without a result")?;
    drop(live);
    let code = finish(&result, options.json)?;
    if let Some(conversation) = &asked.conversation
        && let Some(answer) = &result.message
    {
        conversation.add(&asked.question, &answer.content)?;
    }
    Ok(code)
}

fn finish(result: &WalkResult, format: Option<Json>) -> Result<ExitCode> {
    if let Some(failure) = &result.failure {
        terminal::eprintln(render::failure(failure));
    }
    match format {
        None => {
            if std::io::stderr().is_terminal() {
                terminal::eprintln("");
            }
            terminal::print(render::result(result))?;
        }
        Some(Json::Result) => terminal::print_json(&json::value("WalkResult", result)?, true)?,
        Some(Json::Events) => {}
    }
    Ok(match result.status() {
        WalkStatus::Abstained => ExitCode::from(ABSTAINED),
        WalkStatus::Failed => ExitCode::from(FAILED),
        _ => ExitCode::SUCCESS,
    })
}

/// The name of the collection that mirrors `paths`. It depends only on the canonical paths and the embedder, not on the
/// current folder.
pub(crate) fn collection_of(paths: &[PathBuf], embedder: &str) -> Result<String> {
    let mut hash = Sha256::new();
    hash.update(embedder.as_bytes());
    let mut full = Vec::new();
    for path in paths {
        let path = std::fs::canonicalize(path).with_context(|| format!("cannot read {}", path.display()))?;
        full.push(path);
    }
    full.sort();
    full.dedup();
    for path in &full {
        hash.update([0]);
        hash.update(path.as_os_str().as_encoded_bytes());
    }
    let digest = hash.finalize();
    let suffix: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("docs-{}-{suffix}", slug(full.first().map(PathBuf::as_path))))
}

/// The last component of a path, reduced to the characters of a collection name.
fn slug(path: Option<&Path>) -> String {
    let name = path
        .and_then(Path::file_name)
        .map(|name| name.to_string_lossy().into_owned());
    let slug: String = name
        .unwrap_or_default()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(c))
        .take(32)
        .collect();
    if slug.is_empty() { "files".to_owned() } else { slug }
}

#[cfg(test)]
mod tests;

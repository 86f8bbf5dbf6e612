//! `emend ask`: asks a question and shows the walk and the answer, or has a conversation.

mod conversation;
mod history;
mod local;
mod question;
mod services;

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
use emend_core::{Deadline, without_secrets};
use emend_orchestrator::{catalog::Catalog, graph::Graph};
use emend_proto::v1::{
    AskStreamRequest, Question, SearchMode, WalkResult, WalkStatus,
    orchestrator_service_client::OrchestratorServiceClient, walk_event::Event,
};
use tracing::Instrument as _;

pub(crate) use self::services::collection_of;
use self::{
    history::{Conversation, Sent},
    services::Services,
};
use crate::{
    args::{AskOptions, Json, Web},
    documents::Reading,
    ingest, json,
    render::{self, Misuse},
    terminal,
};

/// Exit status if the answer is an abstention.
const ABSTAINED: u8 = 3;
/// Exit status if there is no answer because a service failed.
const FAILED: u8 = 4;

/// Runs the command.
///
/// # Errors
/// The documents cannot be read, a service fails to start or is unreachable, or the question is rejected.
pub async fn run(mut options: AskOptions) -> Result<ExitCode> {
    let (word, docs) = options.question_and_docs().map_err(Misuse)?;
    if !docs.is_empty() {
        // A flag for both is refused; an address from the configuration file is for questions without documents.
        options.url = None;
    }
    let graph_yaml = options
        .graph_file
        .as_deref()
        .map(own_graph)
        .transpose()?
        .unwrap_or_default();
    let Some(word) = word else {
        return conversation::run(options, graph_yaml, &docs).await;
    };
    let question = question::read(word, std::io::stdin().lock()).map_err(Misuse)?;
    let conversation = options.history.as_deref().map(Conversation::read).transpose()?;
    let span = tracing::info_span!(target: "emend", "emend ask", otel.kind = "internal");
    answered(&options, graph_yaml, question, conversation, &docs)
        .instrument(span)
        .await
}

async fn answered(
    options: &AskOptions,
    graph_yaml: String,
    question: String,
    conversation: Option<Conversation>,
    docs: &[PathBuf],
) -> Result<ExitCode> {
    let sent = conversation.as_ref().map(Conversation::sent).unwrap_or_default();
    let mut asked = message(options, graph_yaml, question, sent);
    if options.url.is_none() {
        // What is wrong with the question must not cost the time to ingest the documents.
        check(options, &asked).await?;
    }
    let found = match docs {
        [] => None,
        paths => Some(ingest::found(paths, &Reading::default())?),
    };
    let mut services = Services::start(options).await?;
    let result = async {
        if let Some(found) = found {
            services.ingest(options, docs, found).await?;
        }
        asked.collection.clone_from(&services.collection);
        if services.embedded_percent().is_some() {
            let result = walk(services.channel.clone(), options, before_the_web(&asked)).await?;
            if matches!(result.status(), WalkStatus::Answered | WalkStatus::Failed) {
                return Ok(result);
            }
            terminal::eprintln(in_doubt(&result));
            services.embedded().await?;
        }
        walk(services.channel.clone(), options, asked.clone()).await
    }
    .await;
    let finished = result.and_then(|result| Ok((finish(&result, options.json)?, result)));
    if finished.is_ok() {
        if let Some(percent) = services.embedded_percent() {
            terminal::eprintln(format_args!(
                "\n{percent} % of the documents were embedded. The rest follows for the next question; Ctrl-C leaves it to that."
            ));
        }
        if let Some(Err(error)) = conversation::unless_interrupted(services.embedded()).await {
            render::error(&error);
        }
    }
    services.stop().await;
    let (code, result) = finished?;
    if let Some(mut conversation) = conversation
        && let Some(answer) = &result.message
    {
        conversation.add(&asked.question, &answer.content)?;
    }
    Ok(code)
}

/// What is said of an answer that is in doubt while documents are being embedded: the answer, if there is one, and what comes next.
fn in_doubt(result: &WalkResult) -> String {
    let answer = match result.status() {
        WalkStatus::Abstained => String::new(),
        _ => format!("\n{}", render::result(result)),
    };
    format!("{answer}Not sure with what is embedded so far: the question is asked again when all is.")
}

/// A question while documents are being embedded: what they say counts for more than the web, which is searched when all are.
fn before_the_web(asked: &Question) -> Question {
    Question {
        web_off: true,
        ..asked.clone()
    }
}

/// A question as it is sent, but for its collection.
fn message(options: &AskOptions, graph_yaml: String, question: String, history: Sent) -> Question {
    let mut graph_options: HashMap<String, f64> = options.options.iter().cloned().collect();
    let named = [("top_k", options.top_k), ("max_retries", options.max_retries)];
    graph_options.extend(
        named
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.into()))),
    );
    if !history.notice.is_empty() {
        terminal::eprintln(format_args!("history: {}", history.notice));
    }
    Question {
        question,
        graph: if graph_yaml.is_empty() {
            options.graph.clone()
        } else {
            String::new()
        },
        graph_yaml,
        collection: options.collection.clone().unwrap_or_default(),
        options: graph_options,
        filter: HashMap::new(),
        conditions: options.filters.clone(),
        exact: options.exact,
        web_off: options.web == Web::Off,
        history: history.messages,
        budget: options.budget.message(),
        search: options.search.map(SearchMode::from).unwrap_or_default().into(),
        // What is kept can be replayed.
        record: options.json.is_some(),
    }
}

/// Finds what is wrong with a question before a service is asked.
async fn check(options: &AskOptions, question: &Question) -> Result<()> {
    let catalog = Catalog::load(options.local.graphs_dir.as_deref())?;
    Ok(emend_orchestrator::check(&catalog, question.clone()).await?)
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

/// Asks, and shows the walk while it goes. Dropping the future calls the walk off.
async fn walk(channel: TracedChannel, options: &AskOptions, question: Question) -> Result<WalkResult> {
    let walked = walked(channel, options, question).await;
    match &options.url {
        Some(url) => walked.map_err(|error| not_an_orchestrator(url, error)),
        None => walked,
    }
}

async fn walked(channel: TracedChannel, options: &AskOptions, question: Question) -> Result<WalkResult> {
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
    result.context("the orchestrator ended the stream without a result")
}

/// What to do where no orchestrator answers at the URL; any other error as it is.
fn not_an_orchestrator(url: &str, error: anyhow::Error) -> anyhow::Error {
    let Some(status) = error.downcast_ref::<tonic::Status>() else {
        return error;
    };
    let url = without_secrets(url);
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

#[cfg(test)]
mod tests;

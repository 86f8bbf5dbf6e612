//! `emend eval`: graphs measured on questions whose answers are known.

mod data;
mod grades;
mod score;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use emend_chassis::Deadline;
use emend_proto::v1::{
    AskRequest, Question, RetrieveRequest, WalkResult, orchestrator_service_client::OrchestratorServiceClient,
    retriever_service_client::RetrieverServiceClient,
};
use futures::StreamExt as _;
use serde::Serialize;

use self::{
    data::{Case, Expect, QuestionSet},
    score::{Tally, total},
};
use crate::{
    args::EvalQaOptions,
    cluster::{Cluster, Component, Plan},
    documents, ingest, progress,
};

pub use grades::grades;

/// Walks under way at once.
const CONCURRENT: usize = 4;

/// What one graph did on one set of questions.
#[derive(Debug, Serialize)]
struct Report {
    set: String,
    ingest: IngestReport,
    retrieval: RetrievalReport,
    graphs: BTreeMap<String, GraphReport>,
}

#[derive(Debug, Serialize)]
struct IngestReport {
    documents: u64,
    passages: u64,
    seconds: f64,
    passages_per_second: f64,
}

/// Shares of the questions whose answer is in the local corpus.
#[derive(Debug, Default, Serialize)]
struct RetrievalReport {
    questions: u32,
    hit_at_1: f64,
    hit_at_5: f64,
}

#[derive(Debug, Serialize)]
struct GraphReport {
    by_expect: BTreeMap<&'static str, Tally>,
    total: Tally,
    seconds: f64,
}

/// Measures graphs over the question sets of a folder.
///
/// # Errors
/// The data cannot be read, or a service cannot start.
pub async fn qa(options: EvalQaOptions) -> Result<ExitCode> {
    let sets = data::question_sets(&options.data)?;
    let mut reports = Vec::new();
    for set in sets {
        if options.sets.is_empty() || options.sets.contains(&set.name) {
            reports.push(measure(set, &options).await?);
        }
    }
    if options.json {
        anstream::println!("{}", serde_json::to_string_pretty(&reports)?);
    } else {
        for report in &reports {
            anstream::println!("{}", table(report));
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn measure(mut set: QuestionSet, options: &EvalQaOptions) -> Result<Report> {
    if let Some(limit) = options.limit {
        set.cases.truncate(limit);
    }
    // The web corpus stands in for the web; a collection of its own keeps the user's data out of it.
    let folder = tempfile::tempdir()?;
    let web = folder.path().join("web");
    std::fs::create_dir(&web)?;
    if let Some(corpus) = &set.web {
        std::fs::copy(corpus, web.join("web.jsonl"))?;
    }
    let mut local = options.local.clone();
    local.data_dir.get_or_insert_with(|| folder.path().join("data"));
    local.web_folder.get_or_insert(web);
    let cluster = Cluster::start(&local, Plan::default()).await?;
    let measured = async {
        let ingest = ingest_corpus(&cluster, &set).await?;
        let retrieval = retrieval(&cluster, &set).await?;
        let mut graphs = BTreeMap::new();
        for graph in &options.graphs {
            graphs.insert(graph.clone(), walk(&cluster, &set, graph, options.timeout).await?);
        }
        Ok::<_, anyhow::Error>(Report {
            set: set.name.clone(),
            ingest,
            retrieval,
            graphs,
        })
    }
    .await;
    cluster.stop().await;
    measured
}

async fn ingest_corpus(cluster: &Cluster, set: &QuestionSet) -> Result<IngestReport> {
    let began = Instant::now();
    let found = documents::find(std::slice::from_ref(&set.local))?;
    let outcome = ingest::ingest(cluster.channel(Component::Retriever)?, &collection(set), found, true).await?;
    if let Some((document, reason)) = outcome.failed.first_key_value() {
        anyhow::bail!(
            "{} documents could not be stored; {document}: {reason}",
            outcome.failed.len()
        );
    }
    let seconds = began.elapsed().as_secs_f64();
    Ok(IngestReport {
        documents: outcome.ingested + outcome.unchanged,
        passages: outcome.passages,
        seconds,
        passages_per_second: outcome.passages as f64 / seconds,
    })
}

fn collection(set: &QuestionSet) -> String {
    format!("eval-{}", set.name)
}

async fn retrieval(cluster: &Cluster, set: &QuestionSet) -> Result<RetrievalReport> {
    let client = RetrieverServiceClient::new(cluster.channel(Component::Retriever)?);
    let cases: Vec<&Case> = set.cases.iter().filter(|case| case.expect == Expect::Local).collect();
    let bar = progress::questions(&format!("{} retrieval", set.name), cases.len() as u64);
    let ranks: Vec<Result<Option<usize>>> = futures::stream::iter(cases.iter().map(|case| {
        let mut client = client.clone();
        let bar = bar.clone();
        async move {
            let request = RetrieveRequest {
                query: case.question.clone(),
                collection: collection(set),
                top_k: Some(5),
                ..RetrieveRequest::default()
            };
            let passages = client.retrieve(request).await?.into_inner().passages;
            bar.inc(1);
            Ok(passages
                .iter()
                .position(|passage| case.gold_doc_ids.contains(&passage.document_id)))
        }
    }))
    .buffered(CONCURRENT)
    .collect()
    .await;
    bar.finish_and_clear();
    let ranks = ranks.into_iter().collect::<Result<Vec<_>>>()?;
    let share = |within: usize| {
        let hits = ranks
            .iter()
            .filter(|rank| rank.is_some_and(|rank| rank < within))
            .count();
        hits as f64 / ranks.len().max(1) as f64
    };
    Ok(RetrievalReport {
        questions: u32::try_from(ranks.len())?,
        hit_at_1: share(1),
        hit_at_5: share(5),
    })
}

async fn walk(cluster: &Cluster, set: &QuestionSet, graph: &str, timeout: Duration) -> Result<GraphReport> {
    let client = OrchestratorServiceClient::new(cluster.channel(Component::Orchestrator)?);
    let bar = progress::questions(&format!("{} {graph}", set.name), set.cases.len() as u64);
    let began = Instant::now();
    let results: Vec<Result<WalkResult, tonic::Status>> = futures::stream::iter(set.cases.iter().map(|case| {
        let mut client = client.clone();
        let bar = bar.clone();
        async move {
            let question = Question {
                question: case.question.clone(),
                graph: graph.to_owned(),
                collection: collection(set),
                ..Question::default()
            };
            let request = AskRequest {
                question: Some(question),
            };
            let answered = client
                .ask(emend_chassis::request(request, Deadline::after(timeout)))
                .await;
            bar.inc(1);
            Ok(answered?.into_inner().result.unwrap_or_default())
        }
    }))
    .buffered(CONCURRENT)
    .collect()
    .await;
    bar.finish_and_clear();
    let mut by_expect: BTreeMap<&'static str, Tally> = BTreeMap::new();
    let mut first_error = None;
    for (case, result) in set.cases.iter().zip(results) {
        by_expect
            .entry(case.expect.name())
            .or_default()
            .add(case, result.as_ref().ok());
        if let Err(status) = result {
            first_error.get_or_insert(status);
        }
    }
    let total = total(&by_expect);
    match first_error {
        Some(status) if total.errors == total.questions => {
            return Err(status).with_context(|| format!("no question could be asked of {graph}"));
        }
        Some(status) => anstream::eprintln!("{} walks failed, the first with: {}", total.errors, status.message()),
        None => {}
    }
    Ok(GraphReport {
        by_expect,
        total,
        seconds: began.elapsed().as_secs_f64(),
    })
}

fn table(report: &Report) -> String {
    let mut text = String::new();
    let Report {
        set,
        ingest,
        retrieval,
        graphs,
    } = report;
    let _ = writeln!(
        text,
        "{set}: {} documents, {} new passages at {:.1}/s; hit@1 {:.3}, hit@5 {:.3} over {} local questions",
        ingest.documents,
        ingest.passages,
        ingest.passages_per_second,
        retrieval.hit_at_1,
        retrieval.hit_at_5,
        retrieval.questions
    );
    let _ = writeln!(
        text,
        "{:<22} {:<7} {:>5} {:>9} {:>10} {:>9} {:>8} {:>8} {:>5} {:>6} {:>6}",
        "graph", "expect", "n", "answered", "unverified", "abstained", "contains", "correct", "web", "errors", "steps"
    );
    for (graph, found) in graphs {
        let rows = found.by_expect.iter().map(|(expect, tally)| (*expect, tally));
        for (expect, tally) in rows.chain([("all", &found.total)]) {
            let n = f64::from(tally.questions.max(1));
            let share = |count: u32| f64::from(count) / n;
            let _ = writeln!(
                text,
                "{graph:<22} {expect:<7} {:>5} {:>9.3} {:>10.3} {:>9.3} {:>8.3} {:>8.3} {:>5.2} {:>6} {:>6.1}",
                tally.questions,
                share(tally.answered),
                share(tally.unverified),
                share(tally.abstained),
                share(tally.contains),
                share(tally.correct),
                share(tally.web),
                tally.errors,
                share(tally.steps)
            );
        }
        let rate = f64::from(found.total.questions) / found.seconds;
        let _ = writeln!(text, "{graph:<22} {rate:.2} walks/s");
    }
    text
}

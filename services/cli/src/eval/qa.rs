//! `emend eval qa`: every question asked of every graph.

pub(super) mod sample;
mod walk;

use std::{
    collections::HashSet,
    fs::{self, File},
    io::Write as _,
    path::Path,
    process::ExitCode,
    time::{Instant, SystemTime},
};

use anyhow::{Context as _, Result, bail};
use tokio_util::sync::CancellationToken;

use self::walk::Asker;
use super::{
    data::{self, QuestionSet},
    report::{self, Report, Run, SetReport, Speed},
    score::{Ending, Walk, metrics::Ranked},
};
use crate::{
    args::EvalQaOptions,
    cluster::{Cluster, Component, Plan},
    documents, ingest,
};

/// As a shell reports a process that Ctrl-C ended.
const STOPPED: u8 = 130;

/// Measures graphs over the question sets of folders.
///
/// # Errors
/// The data cannot be read, an output cannot be written, a graph is unknown, or a service cannot start.
pub async fn qa(options: EvalQaOptions) -> Result<ExitCode> {
    let mut sets = data::question_sets(&options.data, &options.sets)?;
    let mut seen = HashSet::new();
    if let Some(graph) = options.graphs.iter().find(|graph| !seen.insert(graph.as_str())) {
        bail!("--graphs names {graph} twice");
    }
    // Hours of walks are not to end in a file that cannot be written.
    let mut out = options.out.as_deref().map(create).transpose()?;
    if let Some(page) = &options.html {
        let opened = File::options().create(true).append(true).open(page);
        opened.with_context(|| format!("cannot write {}", page.display()))?;
    }
    let available: Vec<usize> = sets.iter().map(|set| set.cases.len()).collect();
    if let Some(limit) = options.limit {
        for set in &mut sets {
            set.cases = sample::sample(std::mem::take(&mut set.cases), limit.get());
        }
    }
    let stop = emend_chassis::stop_on_signal()?;
    let mut measured = Measured::default();
    let mut outcome = Ok(());
    for (set, available) in sets.iter().zip(available) {
        if outcome.is_ok() && !stop.is_cancelled() {
            outcome = measured.set(set, available, &options, &stop, out.as_mut()).await;
        }
    }
    let partial = outcome.is_err() || stop.is_cancelled();
    if partial && measured.walks.is_empty() {
        outcome?;
        anstream::eprintln!("stopped before a walk ended");
        return Ok(ExitCode::from(STOPPED));
    }
    let run = Run::new(&options, std::env::args(), SystemTime::now(), partial);
    let report = Report::new(run, measured.sets, &measured.walks, &measured.ranked, measured.speed);
    if let Some(page) = &options.html {
        let html = report::html::page(&report, &measured.walks)?;
        fs::write(page, html).with_context(|| format!("cannot write {}", page.display()))?;
    }
    if options.json {
        anstream::println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        anstream::print!("{}", report::table::text(&report));
    }
    // What was measured before it is printed all the same.
    outcome?;
    let nothing_from = |graph: &String| {
        let mut walks = measured.walks.iter().filter(|walk| walk.graph == graph);
        walks.all(|walk| walk.status == Ending::Error)
    };
    Ok(if partial {
        ExitCode::from(STOPPED)
    } else if options.graphs.iter().any(nothing_from) {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

fn create(path: &Path) -> Result<File> {
    File::create(path).with_context(|| format!("cannot write {}", path.display()))
}

/// What was measured so far.
#[derive(Default)]
struct Measured<'a> {
    sets: Vec<SetReport>,
    walks: Vec<Walk<'a>>,
    ranked: Vec<Ranked<'a>>,
    speed: Vec<Speed>,
}

impl<'a> Measured<'a> {
    /// Adds one set.
    async fn set(
        &mut self,
        set: &'a QuestionSet,
        available: usize,
        options: &'a EvalQaOptions,
        stop: &CancellationToken,
        out: Option<&mut File>,
    ) -> Result<()> {
        // The web corpus stands in for the web; a collection of its own keeps the user's data out of it.
        let folder = tempfile::tempdir()?;
        let web = folder.path().join("web");
        fs::create_dir(&web)?;
        if let Some(corpus) = &set.web {
            fs::copy(corpus, web.join("web.jsonl"))?;
        }
        let mut local = options.local.clone();
        local.data_dir.get_or_insert_with(|| folder.path().join("data"));
        local.web_folder.get_or_insert(web);
        let Some(cluster) = stop.run_until_cancelled(Cluster::start(&local, Plan::default())).await else {
            return Ok(());
        };
        let cluster = cluster?;
        let walked = self.walk(&cluster, set, available, options, stop, out).await;
        cluster.stop().await;
        walked
    }

    async fn walk(
        &mut self,
        cluster: &Cluster,
        set: &'a QuestionSet,
        available: usize,
        options: &'a EvalQaOptions,
        stop: &CancellationToken,
        mut out: Option<&mut File>,
    ) -> Result<()> {
        for graph in &options.graphs {
            walk::known(cluster.channel(Component::Orchestrator)?, graph).await?;
        }
        let collection = format!("eval-{}", set.name);
        let Some(ingested) = stop
            .run_until_cancelled(ingest(cluster, set, available, &collection))
            .await
        else {
            return Ok(());
        };
        self.sets.push(ingested?);
        let asker = Asker {
            concurrent: options.concurrent,
            timeout: options.timeout,
            stop,
        };
        let retriever = cluster.channel(Component::Retriever)?;
        let ranked = |one| self.ranked.push(one);
        asker.ranks(retriever, &collection, &set.cases, ranked).await?;
        for graph in &options.graphs {
            let began = Instant::now();
            let before = self.walks.len();
            let ended = |walk: Walk<'a>| {
                if let Some(out) = out.as_mut() {
                    let line = serde_json::to_string(&walk)?;
                    writeln!(out, "{line}").context("cannot write a line of --out")?;
                }
                self.walks.push(walk);
                Ok(())
            };
            let orchestrator = cluster.channel(Component::Orchestrator)?;
            asker.walks(orchestrator, &collection, &set.cases, graph, ended).await?;
            let walks = self.walks.len() - before;
            self.speed.push(Speed::new(&set.name, graph, walks, began.elapsed()));
        }
        Ok(())
    }
}

async fn ingest(cluster: &Cluster, set: &QuestionSet, available: usize, collection: &str) -> Result<SetReport> {
    let began = Instant::now();
    let found = documents::find(std::slice::from_ref(&set.local))?;
    let outcome = ingest::ingest(cluster.channel(Component::Retriever)?, collection, found, true).await?;
    if let Some((document, reason)) = outcome.failed.first_key_value() {
        bail!(
            "{} documents could not be stored; {document}: {reason}",
            outcome.failed.len()
        );
    }
    Ok(SetReport {
        name: set.name.clone(),
        questions: set.cases.len(),
        available,
        documents: outcome.ingested + outcome.unchanged,
        new_passages: outcome.passages,
        ingest_seconds: began.elapsed().as_secs_f64(),
    })
}

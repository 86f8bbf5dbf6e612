//! Every question asked of every graph.

pub(crate) mod sample;
mod walk;

use std::{
    collections::HashSet,
    future::Future,
    io::Write,
    num::NonZeroUsize,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use emend_proto::v1::{Question, WalkResult};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use self::walk::Asker;
use crate::{
    data::QuestionSet,
    progress::Progress,
    report::{Report, Run, SetReport, Speed},
    retrieval::Searcher,
    score::{Ending, Walk, metrics::Ranked},
};

/// What is asked: the graphs and the retriever below them.
pub trait System: Searcher {
    /// Walks a graph with a question. A status is an outcome like any other: the walk failed.
    fn ask(&self, question: Question) -> impl Future<Output = Result<WalkResult, Status>> + Send;
}

/// What graphs are asked, and under which load.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The graphs, the one that the others are compared with first.
    pub graphs: Vec<String>,
    /// Walks under way at once.
    pub concurrent: NonZeroUsize,
    /// Ends the asking: calls under way are dropped, what has ended is kept.
    pub stop: CancellationToken,
}

impl Plan {
    /// A plan that can be measured.
    ///
    /// # Errors
    /// A graph is named twice.
    pub fn new(graphs: Vec<String>, concurrent: NonZeroUsize, stop: CancellationToken) -> Result<Self> {
        let mut seen = HashSet::new();
        if let Some(graph) = graphs.iter().find(|graph| !seen.insert(graph.as_str())) {
            bail!("graph `{graph}` is named twice; name each graph once");
        }
        Ok(Self {
            graphs,
            concurrent,
            stop,
        })
    }
}

/// Keeps at most `limit` questions of each set, spread as evenly as the set allows over the kinds and languages, and
/// says how many each had.
pub fn limit(sets: &mut [QuestionSet], limit: Option<NonZeroUsize>) -> Vec<usize> {
    let available = sets.iter().map(|set| set.cases.len()).collect();
    if let Some(limit) = limit {
        for set in sets {
            set.cases = sample::sample(std::mem::take(&mut set.cases), limit.get());
        }
    }
    available
}

/// What was measured so far.
#[derive(Debug)]
pub struct Measured<'a> {
    plan: &'a Plan,
    sets: Vec<SetReport>,
    walks: Vec<Walk<'a>>,
    ranked: Vec<Ranked<'a>>,
    speed: Vec<Speed>,
}

impl<'a> Measured<'a> {
    /// Nothing yet.
    #[must_use]
    pub fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            sets: Vec::new(),
            walks: Vec::new(),
            ranked: Vec::new(),
            speed: Vec::new(),
        }
    }

    /// Adds one set, whose documents are in `collection`: where the retriever finds what holds the answers, and then
    /// every question asked of every graph. `out` gets a line of JSON for each walk as it ends.
    ///
    /// # Errors
    /// `out` cannot be written. A walk that fails is an outcome.
    pub async fn add(
        &mut self,
        system: &impl System,
        set: &'a QuestionSet,
        stored: SetReport,
        collection: &str,
        mut out: Option<&mut dyn Write>,
        progress: &impl Progress,
    ) -> Result<()> {
        self.sets.push(stored);
        let asker = Asker {
            system,
            collection,
            concurrent: self.plan.concurrent,
            stop: &self.plan.stop,
            progress,
        };
        asker.ranks(&set.cases, |one| self.ranked.push(one)).await?;
        for graph in &self.plan.graphs {
            let began = Instant::now();
            let before = self.walks.len();
            let ended = |walk: Walk<'a>| {
                if let Some(out) = out.as_mut() {
                    let line = serde_json::to_string(&walk)?;
                    writeln!(out, "{line}").context("cannot write the line of a walk")?;
                }
                self.walks.push(walk);
                Ok(())
            };
            asker.walks(&set.cases, graph, ended).await?;
            let walks = self.walks.len() - before;
            self.speed.push(Speed::new(&set.name, graph, walks, began.elapsed()));
        }
        Ok(())
    }

    /// Whether no walk has ended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.walks.is_empty()
    }

    /// Whether there is a graph of which every walk failed.
    #[must_use]
    pub fn has_graph_without_result(&self) -> bool {
        let nothing_from = |graph: &String| {
            let mut walks = self.walks.iter().filter(|walk| walk.graph == graph);
            walks.all(|walk| walk.status == Ending::Error)
        };
        self.plan.graphs.iter().any(nothing_from)
    }

    /// Adds it all up. The walks come along for [`Report::page`].
    #[must_use]
    pub fn report(self, run: Run) -> (Report, Vec<Walk<'a>>) {
        let report = Report::new(run, self.sets, &self.walks, &self.ranked, self.speed);
        (report, self.walks)
    }
}

/// A set whose corpus was stored.
#[must_use]
pub fn stored(set: &QuestionSet, available: usize, documents: u64, new_passages: u64, took: Duration) -> SetReport {
    SetReport {
        name: set.name.clone(),
        questions: set.cases.len(),
        available,
        documents,
        new_passages,
        ingest_seconds: took.as_secs_f64(),
    }
}

#[cfg(test)]
mod tests;

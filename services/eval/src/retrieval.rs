//! Where the retriever finds the documents that hold the answers, by mode of search.

use std::{collections::BTreeMap, fmt::Write as _, future::Future, num::NonZeroUsize};

use emend_proto::v1::{Passage, RetrieveRequest, SearchMode};
use futures::StreamExt as _;
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::{
    data::{Case, Expect, QuestionSet},
    progress::Progress,
    score::{
        interval::wilson,
        metrics::{Share, mean},
    },
};

/// Passages that are looked at for one of a document that holds the answer.
const TOP_K: u32 = 10;

/// Version of the JSON of [`Report`]: it goes up when a key is renamed, removed or means something else.
const SCHEMA: u32 = 2;

/// A retriever, before any graph corrects it.
pub trait Searcher: Sync {
    /// Finds passages.
    fn retrieve(&self, request: RetrieveRequest) -> impl Future<Output = Result<Vec<Passage>, Status>> + Send;
}

/// How well one mode finds the documents that hold the answers to the local questions of one set.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The set; `mean` for the mean of all sets.
    pub set: String,
    /// `dense`, `sparse` or `hybrid`; `reranked` for hybrid search whose passages the grader ordered.
    pub mode: &'static str,
    /// Questions that were searched for.
    pub questions: u32,
    /// Share of them for which such a document comes first, 0–1.
    pub hit_at_1: Option<f64>,
    /// Share of them for which such a document is among the first five, 0–1.
    pub hit_at_5: Option<f64>,
    /// 95 % interval of `hit_at_5`; none for the mean.
    pub hit_at_5_interval: Option<[f64; 2]>,
    /// Mean reciprocal rank among the first ten, 0–1.
    pub mrr_at_10: Option<f64>,
    /// Searches that failed.
    pub errors: u32,
}

/// All rows, by set and mode.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    schema: u32,
    rows: Vec<Row>,
}

/// The name of a mode on the command line.
#[must_use]
pub fn mode_name(mode: SearchMode) -> &'static str {
    match mode {
        SearchMode::Dense => "dense",
        SearchMode::Sparse => "sparse",
        SearchMode::Hybrid | SearchMode::Unspecified => "hybrid",
    }
}

/// Searches for every local question of a set whose documents are in `collection`, so many at once, in each mode, until
/// told to stop.
pub async fn measure(
    searcher: &impl Searcher,
    set: &QuestionSet,
    collection: &str,
    modes: &[SearchMode],
    concurrent: NonZeroUsize,
    stop: &CancellationToken,
    progress: &impl Progress,
) -> Vec<Row> {
    let cases: Vec<&Case> = set.cases.iter().filter(|case| case.expect == Expect::Local).collect();
    let mut rows = Vec::new();
    for mode in modes {
        progress.begin(&format!("{} {}", set.name, mode_name(*mode)), cases.len() as u64);
        let ranks = cases.iter().map(|case| rank(searcher, case, collection, *mode));
        let under_way = futures::stream::iter(ranks)
            .buffer_unordered(concurrent.get())
            .inspect(|_| progress.advance())
            .take_until(stop.cancelled());
        let ranks: Vec<Result<Option<usize>, Status>> = under_way.collect().await;
        progress.end();
        rows.push(Row::of(&set.name, *mode, &ranks));
    }
    rows
}

/// The rank, from 0, of the first passage of a document that holds the answer.
async fn rank(
    searcher: &impl Searcher,
    case: &Case,
    collection: &str,
    mode: SearchMode,
) -> Result<Option<usize>, Status> {
    let request = RetrieveRequest {
        query: case.question.clone(),
        collection: collection.to_owned(),
        top_k: Some(TOP_K),
        mode: mode.into(),
        ..RetrieveRequest::default()
    };
    let passages = searcher.retrieve(request).await?;
    Ok(passages
        .iter()
        .position(|passage| case.gold_doc_ids.contains(&passage.document_id)))
}

impl Row {
    fn of(set: &str, mode: SearchMode, ranks: &[Result<Option<usize>, Status>]) -> Self {
        let found: Vec<Option<usize>> = ranks.iter().filter_map(|rank| rank.as_ref().ok().copied()).collect();
        let within = |most: usize| Share::counted(&found, |rank| rank.is_some_and(|rank| rank < most));
        let (first, five) = (within(1), within(5));
        let reciprocal = found
            .iter()
            .map(|rank| rank.map_or(0.0, |rank| 1.0 / (rank + 1) as f64));
        Self {
            set: set.to_owned(),
            mode: mode_name(mode),
            questions: first.of,
            hit_at_1: first.share,
            hit_at_5: five.share,
            hit_at_5_interval: wilson(five.count, five.of),
            mrr_at_10: mean(reciprocal),
            errors: u32::try_from(ranks.len() - found.len()).unwrap_or(u32::MAX),
        }
    }
}

impl Report {
    /// The rows of all sets, and for each mode the mean over the sets where there are several.
    #[must_use]
    pub fn new(mut rows: Vec<Row>) -> Self {
        let mut modes: BTreeMap<&'static str, Vec<&Row>> = BTreeMap::new();
        for row in &rows {
            modes.entry(row.mode).or_default().push(row);
        }
        let means: Vec<Row> = modes
            .into_iter()
            .filter(|(_, rows)| rows.len() > 1)
            .map(|(mode, rows)| {
                let over = |value: fn(&Row) -> Option<f64>| {
                    let values: Vec<f64> = rows.iter().filter_map(|row| value(row)).collect();
                    mean(values.into_iter())
                };
                Row {
                    set: "mean".to_owned(),
                    mode,
                    questions: rows.iter().map(|row| row.questions).sum(),
                    hit_at_1: over(|row| row.hit_at_1),
                    hit_at_5: over(|row| row.hit_at_5),
                    hit_at_5_interval: None,
                    mrr_at_10: over(|row| row.mrr_at_10),
                    errors: rows.iter().map(|row| row.errors).sum(),
                }
            })
            .collect();
        rows.extend(means);
        Self { schema: SCHEMA, rows }
    }

    /// Whether no question was searched for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.iter().all(|row| row.questions == 0)
    }

    /// A table, one line a row.
    #[must_use]
    pub fn text(&self) -> String {
        let wide = self
            .rows
            .iter()
            .map(|row| row.set.chars().count())
            .max()
            .unwrap_or(0)
            .max(3);
        let mut text = format!(
            "{:<wide$}  {:<8}  {:>5}  {:>6}  {:>6}  {:<13}  {:>6}  {:>6}\n",
            "set", "mode", "n", "hit@1", "hit@5", "  95 %", "MRR@10", "errors"
        );
        let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.3}"));
        for row in &self.rows {
            let interval = row.hit_at_5_interval;
            let interval = interval.map_or(String::new(), |[low, high]| format!("{low:.3}–{high:.3}"));
            let _ = writeln!(
                text,
                "{:<wide$}  {:<8}  {:>5}  {:>6}  {:>6}  {interval:<13}  {:>6}  {:>6}",
                row.set,
                row.mode,
                row.questions,
                number(row.hit_at_1),
                number(row.hit_at_5),
                number(row.mrr_at_10),
                row.errors,
            );
        }
        text
    }
}

#[cfg(test)]
mod tests;

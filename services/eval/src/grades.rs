//! The evaluator's judgements against labelled pairs.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    time::{Duration, Instant},
};

use anyhow::Result;
use emend_evaluator::{
    Evaluator,
    metrics::{self, Judged},
};
use futures::TryStreamExt as _;
use serde::Serialize;

use crate::{
    pairs::{self, LabelledPair, Task},
    progress::Progress,
    reliability::{self, Curve},
};

/// Pairs that are judged before their judgements are timed: few enough that the embedder still remembers their texts.
const AT_ONCE: usize = 16;

/// The judgements of one data set, or of a part of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// What was judged.
    pub task: &'static str,
    /// The data set.
    pub set: String,
    /// The language; empty where the pairs do not tell, or are of several.
    pub lang: String,
    /// `human`; `constructed` where the label follows from how a pair was made; `mixed` for the right ones that people
    /// judged against wrong ones that were made up, where only those were.
    pub labels: &'static str,
    /// How many there are.
    pub pairs: usize,
    /// How many of them are labelled right.
    pub positive: usize,
    /// Area under the curve of the receiver operating characteristic, 0–1; none with one label alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roc_auc: Option<f64>,
    /// Highest F1 over all thresholds, 0–1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_f1: Option<f64>,
    /// The threshold with the highest F1, 0–1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_threshold: Option<f64>,
    /// Mean squared distance of probability and label, 0–1.
    pub brier: f64,
    /// Mean distance of probability and share that is right, 0–1.
    pub expected_calibration_error: f64,
    /// What the error would be by chance if the probabilities were right: on average so few pairs show no less.
    pub chance_calibration_error: f64,
    /// Pairs a second of one core, the texts' vectors at hand.
    pub pairs_per_second: f64,
}

/// What a part of a data set brought.
#[derive(Default)]
struct Part {
    judged: Vec<Judged>,
    spent: Duration,
}

/// What came of some sets.
#[derive(Debug, Default)]
pub struct Grades {
    /// By set, language and origin of the labels, in the order of the sets.
    pub rows: Vec<Row>,
    curves: Vec<Curve>,
}

impl Grades {
    /// Judges the first `limit` pairs of a set, all without one, and compares with their labels.
    ///
    /// # Errors
    /// The evaluator's embedder fails.
    pub async fn add(
        &mut self,
        evaluator: &Evaluator,
        task: Task,
        set: &str,
        mut labelled: Vec<LabelledPair>,
        limit: Option<usize>,
        progress: &impl Progress,
    ) -> Result<()> {
        labelled.truncate(limit.unwrap_or(usize::MAX));
        let parts = judge(evaluator, set, &labelled, progress).await?;
        let mut mixed = Part::default();
        let only_wrong = |part: &Part| part.judged.iter().all(|one| !one.label);
        let made_wrong = parts.iter().any(|((_, made), part)| *made && only_wrong(part));
        for ((lang, constructed), part) in parts {
            let labels = if constructed { "constructed" } else { "human" };
            self.curves.extend(curve(task, format!("{set} {labels}"), &part));
            self.rows.push(row(task.name(), set, lang, labels, &part));
            let all = part.judged.len().max(1);
            let own = part.judged.into_iter().filter(|one| one.label != constructed);
            let own: Vec<Judged> = own.collect();
            mixed.spent += part.spent.mul_f64(own.len() as f64 / all as f64);
            mixed.judged.extend(own);
        }
        if made_wrong && mixed.judged.iter().any(|one| one.label) {
            self.curves.extend(curve(task, format!("{set} mixed"), &mixed));
            self.rows.push(row(task.name(), set, String::new(), "mixed", &mixed));
        }
        Ok(())
    }

    /// A page that shows how probabilities and labels agree.
    ///
    /// # Errors
    /// The page cannot be rendered.
    pub fn diagram(&self) -> Result<String> {
        reliability::diagram("Grades and labels", &self.curves)
    }

    /// The rows on a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        text(&self.rows)
    }
}

/// Judgements by language and whether a pair was constructed.
async fn judge(
    evaluator: &Evaluator,
    set: &str,
    labelled: &[LabelledPair],
    progress: &impl Progress,
) -> Result<BTreeMap<(String, bool), Part>> {
    let mut parts: BTreeMap<(String, bool), Part> = BTreeMap::new();
    progress.begin(set, labelled.len() as u64);
    for chunk in labelled.chunks(AT_ONCE) {
        // The first time embeds the texts, several at once; what a judgement costs by itself shows the second time, one after
        // another.
        let mut judging = pairs::each(chunk, |pair| evaluator.explain(pair.pair()));
        let mut judged = Vec::with_capacity(chunk.len());
        while let Some(judgements) = judging.try_next().await? {
            judged.push(judgements);
            progress.advance();
        }
        drop(judging);
        for (pair, judgements) in chunk.iter().zip(judged) {
            let started = Instant::now();
            evaluator.explain(pair.pair()).await?;
            let spent = started.elapsed();
            let lang = pair.lang.clone().unwrap_or_default();
            let part = parts.entry((lang, pair.constructed)).or_default();
            part.spent += spent;
            let judged = judgements.iter().zip(&pair.labels).map(|(judgement, label)| Judged {
                probability: judgement.probability,
                label: *label,
            });
            part.judged.extend(judged);
        }
    }
    progress.end();
    Ok(parts)
}

/// None of a part with one label alone: it would run along an edge, and say nothing.
fn curve(task: Task, name: String, part: &Part) -> Option<Curve> {
    metrics::roc_auc(&part.judged)?;
    Some(Curve {
        task: task.name(),
        name,
        bins: metrics::reliability(&part.judged, 10),
    })
}

fn row(task: &'static str, set: &str, lang: String, labels: &'static str, part: &Part) -> Row {
    let best = metrics::best_f1(&part.judged);
    Row {
        task,
        set: set.to_owned(),
        lang,
        labels,
        pairs: part.judged.len(),
        positive: part.judged.iter().filter(|one| one.label).count(),
        roc_auc: metrics::roc_auc(&part.judged),
        best_f1: best.map(|best| best.f1()),
        best_threshold: best.map(|best| best.threshold),
        brier: metrics::brier(&part.judged),
        expected_calibration_error: metrics::expected_calibration_error(&part.judged),
        chance_calibration_error: metrics::chance_calibration_error(&part.judged),
        pairs_per_second: part.judged.len() as f64 / part.spent.as_secs_f64().max(1e-9),
    }
}

fn text(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<13} {:<16} {:<8} {:<12} {:>5} {:>5} {:>6} {:>6} {:>6} {:>6} {:>6} {:>8}\n",
        "task", "set", "lang", "labels", "pairs", "yes", "AUC", "F1", "Brier", "ECE", "chance", "pairs/s"
    );
    let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
    for row in rows {
        let _ = writeln!(
            text,
            "{:<13} {:<16} {:<8} {:<12} {:>5} {:>5} {:>6} {:>6} {:>6.3} {:>6.3} {:>6.3} {:>8.0}",
            row.task,
            row.set,
            row.lang,
            row.labels,
            row.pairs,
            row.positive,
            share(row.roc_auc),
            share(row.best_f1),
            row.brier,
            row.expected_calibration_error,
            row.chance_calibration_error,
            row.pairs_per_second
        );
    }
    text
}

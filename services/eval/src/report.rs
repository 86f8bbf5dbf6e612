//! What was measured, as a table, as JSON and as a page.

mod html;
mod table;

use std::time::{Duration, SystemTime};

use anyhow::Result;
use emend_core::without_secrets;
use serde::Serialize;

use crate::{
    qa::Plan,
    score::{
        Walk,
        interval::Difference,
        metrics::{self, By, Failure, Group, Ranked, Share},
    },
};

/// Version of the JSON: it goes up when a key is renamed, removed or means something else.
const SCHEMA: u32 = 2;

/// All that was measured. As JSON it is the one object that `--json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// How it was run.
    #[serde(flatten)]
    pub run: Run,
    /// The question sets, by name.
    pub sets: Vec<SetReport>,
    /// Outcomes and costs: all questions first, then each set, then each language.
    pub groups: Vec<Group>,
    /// How fast each graph went through each set.
    pub speed: Vec<Speed>,
    /// The most frequent messages of walks that failed, at most three a graph.
    pub failures: Vec<Failure>,
}

/// How a report came about.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Version of this object's keys.
    pub schema: u32,
    /// Whether it ended early, so that some questions were not asked of some graphs.
    pub partial: bool,
    /// The command line, without keys.
    pub command: String,
    /// When it ended, RFC 3339 in UTC.
    pub date: String,
    /// Version of Emend.
    pub version: String,
    /// The embedder.
    pub embedder: String,
    /// Who writes the answers: `embedded` or `llm`, as the next two.
    pub generator: String,
    /// Who grades.
    pub grader: String,
    /// Who rewrites questions.
    pub rewriter: String,
    /// The language model, where there is one.
    pub llm_model: Option<String>,
    /// Walks under way at once.
    pub concurrent: usize,
    /// Longest time for one walk, in seconds.
    pub timeout_seconds: f64,
    /// The graphs, the one that the others are compared with first.
    pub graphs: Vec<String>,
}

/// A question set and what storing its corpus took.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetReport {
    /// Its name.
    pub name: String,
    /// Questions asked of each graph.
    pub questions: usize,
    /// Questions that it has.
    pub available: usize,
    /// Documents of its local corpus.
    pub documents: u64,
    /// Passages that were not stored before.
    pub new_passages: u64,
    /// Time to store them.
    pub ingest_seconds: f64,
}

/// How fast a graph went through a set.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Speed {
    /// The set.
    pub set: String,
    /// The graph.
    pub graph: String,
    /// Walks that ended, failed ones too.
    pub walks: usize,
    /// Time from the first question to the last result.
    pub seconds: f64,
    /// Walks a second, so many under way at once.
    pub walks_per_second: f64,
}

impl Speed {
    /// So many walks in that time.
    #[must_use]
    pub fn new(set: &str, graph: &str, walks: usize, took: Duration) -> Self {
        let seconds = took.as_secs_f64();
        Self {
            set: set.to_owned(),
            graph: graph.to_owned(),
            walks,
            seconds,
            walks_per_second: per_second(walks, seconds),
        }
    }
}

/// Who does the work of a run.
#[derive(Clone, Debug)]
pub struct Backends {
    /// The embedder.
    pub embedder: String,
    /// Who writes the answers.
    pub generator: String,
    /// Who grades.
    pub grader: String,
    /// Who rewrites questions.
    pub rewriter: String,
    /// The language model, where there is one.
    pub llm_model: Option<String>,
}

impl Run {
    /// A run that ended at `now`. The values of flags that end in `-key` are left out of `command`, the words that the
    /// shell was told; its first is the program.
    #[must_use]
    pub fn new(
        plan: &Plan,
        timeout: Duration,
        backends: Backends,
        command: impl Iterator<Item = String>,
        now: SystemTime,
        partial: bool,
    ) -> Self {
        Self {
            schema: SCHEMA,
            partial,
            command: shown(command),
            date: humantime::format_rfc3339_seconds(now).to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            embedder: backends.embedder,
            generator: backends.generator,
            grader: backends.grader,
            rewriter: backends.rewriter,
            llm_model: backends.llm_model,
            concurrent: plan.concurrent.get(),
            timeout_seconds: timeout.as_secs_f64(),
            graphs: plan.graphs.clone(),
        }
    }
}

impl Report {
    /// Adds up what was measured.
    #[must_use]
    pub fn new(run: Run, sets: Vec<SetReport>, walks: &[Walk<'_>], ranked: &[Ranked<'_>], speed: Vec<Speed>) -> Self {
        Self {
            groups: metrics::groups(walks, ranked, &run.graphs),
            failures: metrics::failures(walks, &run.graphs),
            run,
            sets,
            speed,
        }
    }

    /// The report on a terminal, at most 100 columns wide, in colours.
    #[must_use]
    pub fn text(&self) -> String {
        table::text(self)
    }

    /// The report as one page of HTML, with plots and those of `walks` that went wrong.
    ///
    /// # Errors
    /// The page's template names what is not there.
    pub fn page(&self, walks: &[Walk<'_>]) -> Result<String> {
        html::page(self, walks)
    }

    /// The groups that say something new: all questions, the sets where there are several, and the languages where there
    /// are several, but for those that are just a set.
    fn shown(&self) -> impl Iterator<Item = &Group> {
        let of = |by: By| self.groups.iter().filter(move |group| group.by == by);
        let several = move |by: By| of(by).count() > 1;
        self.groups.iter().filter(move |group| match group.by {
            By::All => true,
            By::Set => several(By::Set),
            By::Lang => several(By::Lang) && of(By::Set).all(|set| set.kinds != group.kinds),
        })
    }

    /// Walks a second of a graph over all sets.
    #[must_use]
    fn walks_per_second(&self, graph: &str) -> f64 {
        let of = self.speed.iter().filter(|speed| speed.graph == graph);
        let (walks, seconds) = of.fold((0, 0.0), |(walks, seconds), speed| {
            (walks + speed.walks, seconds + speed.seconds)
        });
        per_second(walks, seconds)
    }

    /// What it was measured on, `squad2 (200 of 500 questions)`.
    #[must_use]
    fn measured_on(&self) -> String {
        let set = |set: &SetReport| {
            if set.questions == set.available {
                format!("{} ({} questions)", set.name, set.questions)
            } else {
                format!("{} ({} of {} questions)", set.name, set.questions, set.available)
            }
        };
        self.sets.iter().map(set).collect::<Vec<_>>().join(", ")
    }
}

fn per_second(walks: usize, seconds: f64) -> f64 {
    if seconds > 0.0 { walks as f64 / seconds } else { 0.0 }
}

/// A command line as a shell would read it, with the secrets that it holds left out.
fn shown(command: impl Iterator<Item = String>) -> String {
    let mut words = Vec::new();
    let mut secret = false;
    for (index, word) in command.enumerate() {
        let word = match word.split_once('=') {
            _ if index == 0 => "emend".to_owned(),
            _ if std::mem::take(&mut secret) => "***".to_owned(),
            Some((flag, _)) if is_secret(flag) => format!("{flag}=***"),
            Some((flag, address)) if address.contains("://") => format!("{flag}={}", without_secrets(address)),
            _ => {
                secret = is_secret(&word);
                if word.contains("://") {
                    without_secrets(&word)
                } else {
                    word
                }
            }
        };
        let plain = |c: char| c.is_alphanumeric() || "-_./:,=+@%*".contains(c);
        words.push(if !word.is_empty() && word.chars().all(plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        });
    }
    words.join(" ")
}

fn is_secret(flag: &str) -> bool {
    flag.starts_with("--") && flag.ends_with("-key")
}

/// A share in hundredths, `71.2`; `–` of nothing.
fn percent(share: Share) -> String {
    hundredths(share.share)
}

fn hundredths(share: Option<f64>) -> String {
    share.map_or_else(|| NOTHING.to_owned(), |share| format!("{:.1}", 100.0 * share))
}

/// Stands where there was nothing to count.
const NOTHING: &str = "–";

/// A difference in points with its interval, `+3.2 [-0.5, +6.9]`; `*` marks one whose interval leaves out 0.
fn points(difference: &Difference) -> String {
    let Difference { points, low, high, .. } = difference;
    let mark = if difference.is_real() { "*" } else { "" };
    format!("{points:+.1} [{low:+.1}, {high:+.1}]{mark}")
}

/// A number with at most so many decimals; `–` of nothing.
fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests;

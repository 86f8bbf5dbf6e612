//! Walks added up.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use super::{
    Ending, Walk,
    interval::{self, Difference, Paired},
};
use crate::data::{Case, Expect};

/// Different messages that are kept of the walks of a graph that failed.
const EXAMPLES: usize = 3;

/// A count and what it is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// How many.
    pub count: u32,
    /// Of how many.
    pub of: u32,
    /// 0–1; none of nothing.
    pub share: Option<f64>,
}

impl Share {
    /// So many of so many.
    #[must_use]
    pub fn new(count: u32, of: u32) -> Self {
        Self {
            count,
            of,
            share: (of > 0).then(|| f64::from(count) / f64::from(of)),
        }
    }

    pub(crate) fn counted<T>(of: &[T], what: impl Fn(&T) -> bool) -> Self {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self::new(count(of.iter().filter(|one| what(one)).count()), count(of.len()))
    }
}

/// What one graph did on some questions. Shares are of the questions unless said; what a walk costs is of the walks that
/// ended in a result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metrics {
    /// Graph that was walked.
    pub graph: String,
    /// Questions asked.
    pub questions: u32,
    /// A right answer to a question of kind local or web, an abstention from one of kind none or absent.
    pub correct: Share,
    /// 95 % interval of the share correct, 0–1.
    pub correct_interval: Option<[f64; 2]>,
    /// How far the share correct is from that of the first graph; none for the first graph itself.
    pub difference: Option<Difference>,
    /// The answer contains a right one; of the questions of kind local and web, as the next two.
    pub contains: Share,
    /// The answer is a right one but for articles, punctuation, case and width.
    pub exact: Share,
    /// Mean overlap of the answer's tokens with the nearest right answer's, 0–1.
    pub f1: Option<f64>,
    /// Ended ANSWERED.
    pub answered: Share,
    /// Ended UNVERIFIED.
    pub unverified: Share,
    /// Ended UNGROUNDED.
    pub ungrounded: Share,
    /// Ended ABSTAINED.
    pub abstained: Share,
    /// Failed.
    pub errors: Share,
    /// Abstained, of the questions of kind none and absent.
    pub abstained_rightly: Share,
    /// Abstained, of the questions of kind local and web.
    pub abstained_wrongly: Share,
    /// A document from the web was used.
    pub web_used: Share,
    /// A document from the web was used, of the questions of kind web.
    pub web_rightly: Share,
    /// A document from the web was used, of the questions of kind local.
    pub web_wrongly: Share,
    /// Mean number of steps.
    pub steps_mean: Option<f64>,
    /// Most steps of one walk.
    pub steps_max: usize,
    /// Mean number of calls to a language model.
    pub model_calls_mean: Option<f64>,
    /// Mean number of tokens that these read and wrote.
    pub tokens_mean: Option<f64>,
    /// Median time of a walk, in milliseconds.
    pub latency_p50_ms: Option<f64>,
    /// Time that one walk in twenty exceeds, in milliseconds.
    pub latency_p95_ms: Option<f64>,
}

impl Metrics {
    /// Adds up the walks of one graph.
    #[must_use]
    pub fn of(graph: &str, walks: &[&Walk<'_>], difference: Option<Difference>) -> Self {
        let with = |kinds: &[Expect]| -> Vec<&Walk<'_>> {
            let of_kind = walks.iter().filter(|walk| kinds.contains(&walk.case.expect));
            of_kind.copied().collect()
        };
        let (local, web) = (with(&[Expect::Local]), with(&[Expect::Web]));
        let (somewhere, nowhere) = (
            with(&[Expect::Local, Expect::Web]),
            with(&[Expect::None, Expect::Absent]),
        );
        let ending = |ending: Ending| Share::counted(walks, |walk| walk.status == ending);
        let abstained = |walk: &&Walk<'_>| walk.status == Ending::Abstained;
        let ended: Vec<_> = walks.iter().filter(|walk| walk.status != Ending::Error).collect();
        let correct = Share::counted(walks, |walk| walk.correct);
        let mut latencies: Vec<f64> = ended.iter().map(|walk| walk.ms).collect();
        latencies.sort_by(f64::total_cmp);
        Self {
            graph: graph.to_owned(),
            questions: correct.of,
            correct,
            correct_interval: interval::wilson(correct.count, correct.of),
            difference,
            contains: Share::counted(&somewhere, |walk| walk.contains),
            exact: Share::counted(&somewhere, |walk| walk.exact),
            f1: mean(somewhere.iter().map(|walk| walk.f1)),
            answered: ending(Ending::Answered),
            unverified: ending(Ending::Unverified),
            ungrounded: ending(Ending::Ungrounded),
            abstained: ending(Ending::Abstained),
            errors: ending(Ending::Error),
            abstained_rightly: Share::counted(&nowhere, abstained),
            abstained_wrongly: Share::counted(&somewhere, abstained),
            web_used: Share::counted(walks, |walk| walk.web_used),
            web_rightly: Share::counted(&web, |walk| walk.web_used),
            web_wrongly: Share::counted(&local, |walk| walk.web_used),
            steps_mean: mean(ended.iter().map(|walk| walk.steps as f64)),
            steps_max: ended.iter().map(|walk| walk.steps).max().unwrap_or_default(),
            model_calls_mean: mean(ended.iter().map(|walk| f64::from(walk.model_calls))),
            tokens_mean: mean(ended.iter().map(|walk| walk.tokens as f64)),
            latency_p50_ms: quantile(&latencies, 0.5),
            latency_p95_ms: quantile(&latencies, 0.95),
        }
    }

    /// The share that ended so.
    #[must_use]
    pub fn ending(&self, ending: Ending) -> Share {
        match ending {
            Ending::Answered => self.answered,
            Ending::Unverified => self.unverified,
            Ending::Ungrounded => self.ungrounded,
            Ending::Abstained => self.abstained,
            Ending::Error => self.errors,
        }
    }
}

/// Where the documents that hold the answer came, over questions of kind local.
#[derive(Clone, Debug)]
pub struct Ranked<'a> {
    /// The question.
    pub case: &'a Case,
    /// Rank of the first document that holds the answer, from 0, or why there is none to look at.
    pub rank: Result<Option<usize>, String>,
}

/// How well the retriever finds the documents that hold the answers, before any graph corrects it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Retrieval {
    /// Such a document comes first; of the questions of kind local that could be searched.
    pub hit_at_1: Share,
    /// Such a document is among the first five.
    pub hit_at_5: Share,
    /// Searches that failed.
    pub errors: u32,
}

impl Retrieval {
    fn of(ranked: &[&Ranked<'_>]) -> Self {
        let ranks: Vec<Option<usize>> = ranked.iter().filter_map(|one| one.rank.clone().ok()).collect();
        let within = |most: usize| Share::counted(&ranks, |rank| rank.is_some_and(|rank| rank < most));
        Self {
            hit_at_1: within(1),
            hit_at_5: within(5),
            errors: u32::try_from(ranked.len() - ranks.len()).unwrap_or(u32::MAX),
        }
    }
}

/// What the questions of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Nothing.
    All,
    /// The set.
    Set,
    /// The language.
    Lang,
}

/// All questions, those of a set, or those in a language.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// What they have in common.
    pub by: By,
    /// The set or the language; `all` for all.
    pub name: String,
    /// How well the retriever did.
    pub retrieval: Retrieval,
    /// Each kind that there is, and `all` last.
    pub kinds: Vec<Kind>,
}

/// Questions of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Kind {
    /// `local`, `web`, `none`, `absent`, or `all`.
    pub expect: &'static str,
    /// Each graph, in the order asked for.
    pub graphs: Vec<Metrics>,
}

/// All walks in groups: all, by set, by language.
#[must_use]
pub fn groups(walks: &[Walk<'_>], ranked: &[Ranked<'_>], graphs: &[String]) -> Vec<Group> {
    let named = |name: fn(&Case) -> &str| -> BTreeSet<&str> { walks.iter().map(|walk| name(walk.case)).collect() };
    let set: fn(&Case) -> &str = |case| &case.set;
    let lang: fn(&Case) -> &str = |case| &case.lang;
    let mut groups = vec![group(By::All, "all", walks, ranked, graphs, |_| true)];
    for (by, of) in [(By::Set, set), (By::Lang, lang)] {
        for name in named(of) {
            groups.push(group(by, name, walks, ranked, graphs, |case| of(case) == name));
        }
    }
    groups
}

fn group(
    by: By,
    name: &str,
    walks: &[Walk<'_>],
    ranked: &[Ranked<'_>],
    graphs: &[String],
    of: impl Fn(&Case) -> bool,
) -> Group {
    let walks: Vec<_> = walks.iter().filter(|walk| of(walk.case)).collect();
    let ranked: Vec<_> = ranked.iter().filter(|one| of(one.case)).collect();
    let kinds: BTreeSet<Expect> = walks.iter().map(|walk| walk.case.expect).collect();
    let kinds = kinds.into_iter().map(Some).chain([None]);
    Group {
        by,
        name: name.to_owned(),
        retrieval: Retrieval::of(&ranked),
        kinds: kinds
            .map(|expect| Kind {
                expect: expect.map_or("all", Expect::name),
                graphs: compared(
                    walks
                        .iter()
                        .copied()
                        .filter(|walk| expect.is_none_or(|expect| walk.case.expect == expect)),
                    graphs,
                ),
            })
            .collect(),
    }
}

/// Every graph beside the first.
fn compared<'a>(walks: impl Iterator<Item = &'a Walk<'a>>, graphs: &[String]) -> Vec<Metrics> {
    let mut by_graph: HashMap<&str, Vec<&Walk<'_>>> = HashMap::new();
    for walk in walks {
        by_graph.entry(walk.graph).or_default().push(walk);
    }
    let of = |graph: &String| by_graph.get(graph.as_str()).map_or(&[][..], Vec::as_slice);
    let baseline: HashMap<_, bool> = graphs
        .first()
        .map(of)
        .unwrap_or_default()
        .iter()
        .map(|walk| (walk.case.key(), walk.correct))
        .collect();
    let metrics = |(index, graph): (usize, &String)| {
        let mut paired = Paired::default();
        for walk in of(graph) {
            if let Some(&correct) = baseline.get(&walk.case.key()) {
                paired.add(walk.correct, correct);
            }
        }
        let difference = (index > 0).then(|| paired.difference()).flatten();
        Metrics::of(graph, of(graph), difference)
    };
    graphs.iter().enumerate().map(metrics).collect()
}

/// Why walks of a graph failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The graph.
    pub graph: String,
    /// The message.
    pub message: String,
    /// Walks that failed with it.
    pub walks: u32,
}

/// The most frequent failures of each graph, at most three of each.
#[must_use]
pub fn failures(walks: &[Walk<'_>], graphs: &[String]) -> Vec<Failure> {
    let mut all = Vec::new();
    for graph in graphs {
        let mut messages: BTreeMap<&str, u32> = BTreeMap::new();
        for walk in walks.iter().filter(|walk| walk.graph == graph) {
            if let Some(message) = &walk.error {
                *messages.entry(message).or_default() += 1;
            }
        }
        let mut messages: Vec<_> = messages.into_iter().collect();
        messages.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        all.extend(messages.into_iter().take(EXAMPLES).map(|(message, walks)| Failure {
            graph: graph.clone(),
            message: message.to_owned(),
            walks,
        }));
    }
    all
}

/// The value below which a share of `sorted` lies, 0–1, by the nearest rank. None of nothing.
#[must_use]
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

pub(crate) fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

#[cfg(test)]
mod tests;

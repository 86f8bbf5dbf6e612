//! The path of a walk through its graph.

use std::collections::BTreeMap;

use emend_proto::v1::{Limit, Step, WalkResult, WalkStatus};

use super::condition_line;
use crate::graph::{Condition, FinishStatus, Graph, NodeId, Options, Outcome, Target};

/// The step that rewrites a follow-up into a standalone question, before the first node of the
/// graph.
pub(super) const CONDENSE: &str = "condense";

/// A walk that cannot be drawn on a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignWalk {
    /// The walk is from another graph.
    #[error("this is a walk of graph `{walk}` and not of graph `{graph}`; show it on `{walk}`")]
    OtherGraph {
        /// The graph that was walked.
        walk: String,
        /// The graph it should be drawn on.
        graph: String,
    },
    /// The graph has the right name, but the walk does not fit its edges.
    #[error("the walk does not fit graph `{graph}`, which must have changed since: {problem}")]
    Changed {
        /// The graph.
        graph: String,
        /// Which step does not fit, and why.
        problem: String,
    },
}

/// Where a walk went, with the numbers of its steps.
pub(super) struct Path {
    /// The numbers of the steps that visited each node.
    pub(super) nodes: BTreeMap<NodeId, Vec<u32>>,
    edges: Vec<Taken>,
    pub(super) end: End,
}

/// An edge that was taken; `condition` is the text on its arrow.
struct Taken {
    from: NodeId,
    to: Target,
    condition: String,
    steps: Vec<u32>,
}

pub(super) enum End {
    /// By an edge, with the actual status if it differs from that of the edge.
    Finish(FinishStatus, Option<&'static str>),
    /// By a limit, before this node.
    Limit { before: NodeId, text: String },
}

impl Path {
    pub(super) fn of(graph: &Graph, result: &WalkResult) -> Result<Path, ForeignWalk> {
        if result.graph != graph.name() {
            return Err(ForeignWalk::OtherGraph {
                walk: result.graph.clone(),
                graph: graph.name().to_owned(),
            });
        }
        let changed = |problem: String| ForeignWalk::Changed {
            graph: graph.name().to_owned(),
            problem,
        };
        let options = Options::resolve(graph.options(), &result.options).map_err(|invalid| {
            let problems = invalid
                .into_iter()
                .map(|option| format!("{}: {}", option.name, option.problem));
            changed(problems.collect::<Vec<_>>().join("; "))
        })?;
        let visited: Vec<&Step> = result.steps.iter().filter(|step| step.action != CONDENSE).collect();
        let mut path = Path {
            nodes: BTreeMap::new(),
            edges: Vec::new(),
            end: End::limit(graph.start(), result),
        };
        let mut visits = vec![0; graph.nodes().len()];
        let mut expected = graph.start();
        for (place, step) in visited.iter().enumerate() {
            let (id, outcome) = place_of(graph, step).map_err(changed)?;
            if id != expected {
                let expected = graph.node(expected).name();
                return Err(changed(format!(
                    "step {} is `{}` where the graph leads to `{expected}`",
                    step.number, step.node
                )));
            }
            visits[id.index()] += 1;
            path.nodes.entry(id).or_default().push(step.number);
            let (condition, to) = graph.node(id).route(outcome).choose(&visits, &options);
            path.take(id, condition, to, step.number);
            match to {
                Target::Node(next) => {
                    expected = next;
                    path.end = End::limit(next, result);
                }
                Target::Finish(status) => {
                    if let Some(next) = visited.get(place + 1) {
                        return Err(changed(format!(
                            "step {} is `{}` where the graph has come to its end",
                            next.number, next.node
                        )));
                    }
                    path.end = End::Finish(status, instead(status, result.status()));
                }
            }
        }
        Ok(path)
    }

    fn take(&mut self, from: NodeId, condition: Option<&Condition>, to: Target, step: u32) {
        let condition = condition_line(condition);
        let same = |taken: &&mut Taken| taken.from == from && taken.to == to && taken.condition == condition;
        match self.edges.iter_mut().find(same) {
            Some(taken) => taken.steps.push(step),
            None => self.edges.push(Taken {
                from,
                to,
                condition,
                steps: vec![step],
            }),
        }
    }

    /// The numbers of the steps that took an arrow, if any did.
    pub(super) fn numbers_of(&self, from: NodeId, to: Target, condition: &str) -> Option<&[u32]> {
        self.edges
            .iter()
            .find(|taken| taken.from == from && taken.to == to && taken.condition == condition)
            .map(|taken| taken.steps.as_slice())
    }
}

impl End {
    fn limit(before: NodeId, result: &WalkResult) -> End {
        let of = match result.exhausted() {
            Limit::Steps => "out of steps",
            Limit::ModelCalls => "out of model calls",
            Limit::Tokens => "out of tokens",
            Limit::WebSearches => "out of web searches",
            Limit::Time => "out of time",
            Limit::Unspecified => "ended early",
        };
        End::Limit {
            before,
            text: format!("{}: {of}", status_name(result.status())),
        }
    }
}

/// The actual status of the walk, if it is not that of the edge.
fn instead(edge: FinishStatus, ended: WalkStatus) -> Option<&'static str> {
    let name = status_name(ended);
    (name != edge.name()).then_some(name)
}

fn status_name(status: WalkStatus) -> &'static str {
    match status {
        WalkStatus::Answered => "answered",
        WalkStatus::Unverified => "unverified",
        WalkStatus::Ungrounded => "ungrounded",
        WalkStatus::Abstained => "abstained",
        WalkStatus::Failed => "failed",
        WalkStatus::Unspecified => "unknown",
    }
}

/// The node and the outcome that a step names.
fn place_of(graph: &Graph, step: &Step) -> Result<(NodeId, Outcome), String> {
    let (id, node) = graph
        .nodes()
        .find(|(_, node)| node.name() == step.node)
        .ok_or_else(|| format!("step {} visits `{}`, which is no node of it", step.number, step.node))?;
    let outcome = node
        .routes()
        .map(|(outcome, _)| outcome)
        .find(|outcome| outcome.name() == step.outcome);
    let outcome = outcome.ok_or_else(|| {
        format!(
            "step {} ended in `{}`, which is no outcome of `{}`",
            step.number, step.outcome, step.node
        )
    })?;
    Ok((id, outcome))
}

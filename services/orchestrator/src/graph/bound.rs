//! The exact worst case of a graph (R1): the longest and the most expensive walk that its edges and
//! its recursion limit allow.
//!
//! The rest of a walk depends on the current node, on the visits of nodes that conditions count (up
//! to the number at which the conditions close for good), and on the passages and hypotheses held.
//! The search explores all such states step by step and keeps, for each state, the highest cost of
//! any path to it. Costs only grow, so the highest cost seen is the worst case, and the last step
//! of the search is the length of the longest walk.

use std::collections::HashMap;

use super::{Cost, EvidenceCounts, GenerateOutcome, GenerateSegmentOutcome, Graph, NodeId, Options, Outcome, Target};

/// States to explore before giving up; the built-in graphs need a few thousand.
const MAX_STATES: usize = 500_000;

/// The most a walk can cost. Each figure is reached by some walk, not necessarily all by the same one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorstCase {
    /// Visits of nodes.
    pub steps: u64,
    /// Model calls, counting one for each passage graded. Calls that a service makes beyond that,
    /// for example to a fallback model, are not included.
    pub model_calls: u64,
    /// Web searches.
    pub web_searches: u64,
}

/// Why there is no worst case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoundError {
    /// The conditions lead to too many states.
    #[error("its worst case has more than {MAX_STATES} states; lower the limits that its conditions compare with")]
    TooManyStates,
}

/// Everything that the rest of a walk depends on, before it visits `node`.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    node: NodeId,
    /// Visits by node, capped at the number from which every condition that counts the node is
    /// closed; 0 for nodes that no condition counts.
    visits: Vec<u32>,
    /// The most that the walk can hold.
    evidence: EvidenceCounts,
}

/// The worst case, cut off at the graph's recursion limit.
pub(super) fn worst_case(graph: &Graph, options: &Options) -> Result<WorstCase, BoundError> {
    let limit = graph
        .limits()
        .recursion
        .map_or(u64::MAX, |limit| u64::from(limit.count(options)));
    worst_case_within(graph, options, limit)
}

/// The worst case of walks with at most `recursion_limit` steps. Without a limit, a graph with an
/// unbounded cycle has too many states.
pub(super) fn worst_case_within(
    graph: &Graph,
    options: &Options,
    recursion_limit: u64,
) -> Result<WorstCase, BoundError> {
    let saturation = saturation(graph, options);
    let start = State {
        node: graph.start(),
        visits: vec![0; saturation.len()],
        evidence: EvidenceCounts::default(),
    };

    let mut worst = WorstCase::default();
    let mut explored = 0;
    let mut reached = HashMap::from([(start, WorstCase::default())]);
    while !reached.is_empty() && worst.steps < recursion_limit {
        worst.steps += 1;
        explored += reached.len();
        if explored > MAX_STATES {
            return Err(BoundError::TooManyStates);
        }
        let mut next = HashMap::new();
        for (mut state, spent) in reached {
            let visited = &mut state.visits[state.node.index()];
            *visited = saturation[state.node.index()].min(*visited + 1);
            let node = graph.node(state.node);
            for (outcome, route) in node.routes() {
                let cost = if is_without_documents(outcome) {
                    Cost::default()
                } else {
                    state.evidence.cost(node.config(), options)
                };
                let spent = WorstCase {
                    steps: worst.steps,
                    model_calls: spent.model_calls + cost.model_calls,
                    web_searches: spent.web_searches + cost.web_searches,
                };
                worst = worst.max(spent);
                if let (_, Target::Node(to)) = route.choose(&state.visits, options) {
                    let state = State {
                        node: to,
                        visits: state.visits.clone(),
                        evidence: state.evidence.after(node.config(), outcome, options),
                    };
                    let known: &mut WorstCase = next.entry(state).or_default();
                    *known = known.max(spent);
                }
            }
        }
        reached = next;
    }
    Ok(worst)
}

impl WorstCase {
    /// The larger of each figure.
    fn max(self, other: WorstCase) -> WorstCase {
        WorstCase {
            steps: self.steps.max(other.steps),
            model_calls: self.model_calls.max(other.model_calls),
            web_searches: self.web_searches.max(other.web_searches),
        }
    }
}

/// Whether the action ended before it called its service, because no passage was held.
fn is_without_documents(outcome: Outcome) -> bool {
    outcome == GenerateOutcome::NoDocuments.into() || outcome == GenerateSegmentOutcome::NoDocuments.into()
}

/// For each node, the number of visits from which every condition that counts it is closed.
fn saturation(graph: &Graph, options: &Options) -> Vec<u32> {
    let mut saturation = vec![0; graph.nodes().len()];
    for (_, node) in graph.nodes() {
        for (condition, _) in node.routes().flat_map(|(_, route)| route.edges()) {
            if let Some(condition) = condition {
                let most = &mut saturation[condition.counted().index()];
                *most = condition.closes_at(options).max(*most);
            }
        }
    }
    saturation
}

#[cfg(test)]
mod tests;

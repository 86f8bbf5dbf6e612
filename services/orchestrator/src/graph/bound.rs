//! The exact worst case of a graph (R1): the longest and the dearest walk its edges and its recursion limit allow.
//!
//! A walk's future depends on where it is, on how often the nodes that conditions count were visited (up to the point
//! where the condition closes for good), and on how many passages it holds, graded and refined or not. All such states are
//! explored step by step, keeping for each the most that any way of reaching it has cost. Costs only grow, so the
//! largest cost seen is the worst case, and the last step that any state takes is the longest walk.

use std::collections::HashMap;

use super::{Cost, EvidenceCounts, GenerateOutcome, GenerateSegmentOutcome, Graph, NodeId, Options, Outcome, Target};

/// States that are explored before giving up; the graphs that come with this crate need a few thousand.
const MAX_STATES: usize = 500_000;

/// The most a walk can cost. Each figure is reached by some walk, not necessarily all by the same one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorstCase {
    /// Visits of nodes.
    pub steps: u64,
    /// Model calls that the graph makes, where each passage is graded by a call of its own. What a service needs beyond
    /// one for each, as for a model that stands in for another, is none of the graph's.
    pub model_calls: u64,
    /// Web searches.
    pub web_searches: u64,
}

/// Why there is no worst case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoundError {
    /// The conditions count too much at once.
    #[error("its worst case has more than {MAX_STATES} states; lower the limits that its conditions compare with")]
    TooManyStates,
}

/// Everything a walk's future depends on, about to visit `node`.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    node: NodeId,
    /// Visits by node, each stopped where no condition can tell any more; 0 for nodes that no condition counts.
    visits: Vec<u32>,
    /// What the walk holds at most.
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

/// The worst case, cut off after so many steps. It does not end for a graph with an unbounded cycle and no limit.
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

/// Whether an action that ends so did not call its service.
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

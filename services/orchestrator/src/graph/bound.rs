//! The exact worst case of a graph (R1): the longest and the most expensive walk that its edges and
//! its recursion limit allow.
//!
//! The rest of a walk depends on the current node, on the visits of nodes that conditions count (up
//! to the number at which the conditions close for good), and on the passages and hypotheses held.
//! The search explores all such states step by step and keeps, for each state, the highest cost of
//! any path to it. Costs only grow, so the highest cost seen is the worst case, and the last step
//! of the search is the length of the longest walk.

use std::collections::{HashMap, hash_map::Entry};

use super::{
    Condition, Cost, EvidenceCounts, GenerateOutcome, GenerateSegmentOutcome, Graph, NodeId, Options, Outcome, Target,
    effort::{Effort, MAX_STATES},
};

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
    #[error(
        "its worst case has more than {MAX_STATES} states; lower the limits that its conditions compare with or \
         `limits.recursion`, or count fewer nodes"
    )]
    TooManyStates,
    /// The caller left, or its deadline passed.
    #[error("it was not checked to its end: the caller left or its deadline passed")]
    Stopped,
}

/// Everything that the rest of a walk depends on, before it visits `node`.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    node: NodeId,
    visits: Visits,
    /// The most that the walk can hold.
    evidence: EvidenceCounts,
}

/// Visits of the nodes that conditions count, in the order of [`Counted`], each capped at the number from which every
/// condition that counts the node is closed.
type Visits = Box<[u16]>;

/// The nodes that conditions count.
struct Counted {
    /// By node: its place among the visits of a state; `None` if no condition counts it.
    places: Vec<Option<usize>>,
    /// By place: the number of visits from which every condition that counts the node is closed.
    closed: Visits,
}

impl Counted {
    fn of(graph: &Graph, options: &Options) -> Counted {
        let mut counted = Counted {
            places: vec![None; graph.nodes().len()],
            closed: Visits::default(),
        };
        let mut closed = Vec::new();
        for (_, node) in graph.nodes() {
            for (condition, _) in node.routes().flat_map(|(_, route)| route.edges()) {
                let Some(condition) = condition else { continue };
                let place = *counted.places[condition.counted().index()].get_or_insert_with(|| {
                    closed.push(0);
                    closed.len() - 1
                });
                // A limit is MAX_COUNT at most.
                let closes_at = u16::try_from(condition.closes_at(options)).unwrap_or(u16::MAX);
                closed[place] = closes_at.max(closed[place]);
            }
        }
        counted.closed = closed.into();
        counted
    }

    fn none(&self) -> Visits {
        vec![0; self.closed.len()].into()
    }

    fn visit(&self, node: NodeId, visits: &mut Visits) {
        if let Some(place) = self.places[node.index()] {
            visits[place] = self.closed[place].min(visits[place] + 1);
        }
    }

    fn is_open(&self, condition: &Condition, visits: &Visits, options: &Options) -> bool {
        self.places[condition.counted().index()]
            .is_some_and(|place| u32::from(visits[place]) < condition.closes_at(options))
    }
}

/// The worst case, cut off at the graph's recursion limit.
pub(super) fn worst_case(graph: &Graph, options: &Options, effort: &mut Effort) -> Result<WorstCase, BoundError> {
    let limit = graph.limits().longest_walk(options);
    worst_case_within(graph, options, limit.into(), effort)
}

/// The worst case of walks with at most `recursion_limit` steps. Without a limit, a graph with an
/// unbounded cycle has too many states.
pub(super) fn worst_case_within(
    graph: &Graph,
    options: &Options,
    recursion_limit: u64,
    effort: &mut Effort,
) -> Result<WorstCase, BoundError> {
    let counted = Counted::of(graph, options);
    let start = State {
        node: graph.start(),
        visits: counted.none(),
        evidence: EvidenceCounts::default(),
    };

    let mut worst = WorstCase::default();
    let mut explored = 1;
    effort.spend(explored)?;
    let mut reached = HashMap::from([(start, WorstCase::default())]);
    while !reached.is_empty() && worst.steps < recursion_limit {
        worst.steps += 1;
        let mut next = HashMap::new();
        for (mut state, spent) in reached {
            counted.visit(state.node, &mut state.visits);
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
                let is_open = |condition: &Condition| counted.is_open(condition, &state.visits, options);
                if let (_, Target::Node(to)) = route.choose_where(is_open) {
                    let state = State {
                        node: to,
                        visits: state.visits.clone(),
                        evidence: state.evidence.after(node.config(), outcome, options),
                    };
                    match next.entry(state) {
                        Entry::Vacant(entry) => {
                            explored += 1;
                            effort.spend(explored)?;
                            entry.insert(spent);
                        }
                        Entry::Occupied(mut entry) => {
                            let known: &mut WorstCase = entry.get_mut();
                            *known = known.max(spent);
                        }
                    }
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

#[cfg(test)]
mod tests;

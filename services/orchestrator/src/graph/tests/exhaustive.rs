//! Compares the computed worst case with the most expensive walk that an exhaustive search finds.
//! The search follows every outcome from every state and merges no states, unlike the computation.

use std::collections::HashMap;

use crate::catalog::Catalog;
use crate::graph::{EvidenceCounts, Graph, NodeConfig, NodeId, Options, Route, Target};

/// The highest cost from here: steps, model calls and web searches, each by itself.
type Dearest = (u64, u64, u64);

struct Search<'a> {
    graph: &'a Graph,
    options: &'a Options,
    /// Nodes that some condition counts.
    counted: Vec<bool>,
    known: HashMap<(NodeId, Vec<u32>, EvidenceCounts, u64), Dearest>,
}

impl Search<'_> {
    /// With `left` steps to go.
    fn from(&mut self, node: NodeId, visits: &[u32], evidence: EvidenceCounts, left: u64) -> Dearest {
        if left == 0 {
            return (0, 0, 0);
        }
        let key = (node, visits.to_vec(), evidence, left);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let mut visits = visits.to_vec();
        if self.counted[node.index()] {
            visits[node.index()] += 1;
        }
        let graph = self.graph;
        let config = graph.node(node).config();
        let mut dearest = (1, 0, 0);
        let ways: Vec<(crate::graph::Outcome, &Route)> = graph.node(node).routes().collect();
        for (outcome, route) in ways {
            let without = outcome.name() == "no_documents";
            let cost = if without {
                crate::graph::Cost::default()
            } else {
                evidence.cost(config, self.options)
            };
            let rest = match route.choose(&visits, self.options).1 {
                Target::Finish(_) => (0, 0, 0),
                Target::Node(to) => self.from(to, &visits, evidence.after(config, outcome, self.options), left - 1),
            };
            dearest = (
                dearest.0.max(1 + rest.0),
                dearest.1.max(cost.model_calls + rest.1),
                dearest.2.max(cost.web_searches + rest.2),
            );
        }
        self.known.insert(key, dearest);
        dearest
    }
}

fn dearest(graph: &Graph, options: &Options) -> Dearest {
    let mut counted = vec![false; graph.nodes().len()];
    for (_, node) in graph.nodes() {
        for (condition, _) in node.routes().flat_map(|(_, route)| route.edges()) {
            if let Some(condition) = condition {
                counted[condition.counted().index()] = true;
            }
        }
    }
    // Where only edges bound a graph, a walk as long as this would be a proof that they do not.
    let left = graph
        .limits()
        .recursion
        .map_or(10_000, |limit| limit.count(options).into());
    let visits = vec![0; counted.len()];
    let mut search = Search {
        graph,
        options,
        counted,
        known: HashMap::new(),
    };
    search.from(graph.start(), &visits, EvidenceCounts::default(), left)
}

/// Options that bound walks, in the graphs that have them.
const LIMITS: [&str; 5] = ["max_count", "max_retries", "web_fallback", "max_depth", "beam_width"];

#[test]
fn r1_the_worst_case_is_the_dearest_walk_there_is() {
    for graph in Catalog::load(None).unwrap().iter() {
        let limits: Vec<&crate::graph::OptionSpec> = graph
            .options()
            .iter()
            .filter(|option| LIMITS.contains(&option.name.as_str()))
            .collect();
        let mut cases = vec![Options::defaults(graph.options())];
        for limit in limits {
            let values = (0..=5).map(f64::from);
            let values: Vec<f64> = values
                .filter(|value| (limit.minimum..=limit.maximum).contains(value))
                .collect();
            cases = cases
                .iter()
                .flat_map(|options| {
                    values
                        .iter()
                        .map(|value| options.clone().with(graph, &limit.name, *value))
                })
                .collect();
        }
        for options in cases {
            let worst = graph.worst_case(&options).unwrap();
            assert_eq!(
                (worst.steps, worst.model_calls, worst.web_searches),
                dearest(graph, &options),
                "{} with {options:?}",
                graph.name()
            );
        }
    }
}

/// The cost of a visit never falls when more is held, so the bound may keep only the maximum.
#[test]
fn more_passages_never_cost_less() {
    for graph in Catalog::load(None).unwrap().iter() {
        let options = Options::defaults(graph.options());
        for (_, node) in graph.nodes() {
            let config: NodeConfig = node.config();
            for held in 0..20 {
                let evidence = |held| EvidenceCounts {
                    held,
                    ungraded: held,
                    unrefined: held,
                    hypotheses: 1,
                };
                let (fewer, more) = (
                    evidence(held).cost(config, &options),
                    evidence(held + 1).cost(config, &options),
                );
                assert!(fewer.model_calls <= more.model_calls, "{}", node.name());
            }
        }
    }
}

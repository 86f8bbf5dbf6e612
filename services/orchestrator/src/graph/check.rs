//! Checks of a whole graph: reachability, paths to the end, cycles, options, the budget (R1).

use petgraph::{algo::tarjan_scc, graph::DiGraph};

use super::{
    Condition, Finding, Graph, MAX_STEPS, NodeId, Options, Target, Value,
    bound::{self, WorstCase},
    effort::Effort,
    finding::list,
    node_config::Setting,
};

/// Everything that is wrong with a graph; empty if it can be walked.
pub(super) fn check(graph: &Graph, effort: &mut Effort) -> Vec<Finding> {
    let mut findings = unreachable(graph);
    findings.extend(no_way_to_finish(graph));
    findings.extend(unread_options(graph));
    findings.extend(out_of_range(graph));
    if graph.limits.recursion.is_none() {
        findings.extend(unbounded_cycles(graph));
    }
    if findings.is_empty() {
        findings.extend(over_budget(graph, effort));
    }
    findings.sort_by_key(|finding| finding.line);
    findings
}

/// Edges between nodes; those to the end are left out.
fn edges(graph: &Graph) -> impl Iterator<Item = (NodeId, Option<&Condition>, NodeId)> {
    graph.nodes().flat_map(|(from, node)| {
        node.routes()
            .flat_map(|(_, route)| route.edges())
            .filter_map(move |(condition, target)| match target {
                Target::Node(to) => Some((from, condition, to)),
                Target::Finish(_) => None,
            })
    })
}

/// Grows a set of nodes along `steps` until it no longer changes.
fn closure(mut reached: Vec<bool>, steps: &[(NodeId, NodeId)]) -> Vec<bool> {
    loop {
        let mut grew = false;
        for (from, to) in steps {
            if reached[from.0] && !reached[to.0] {
                reached[to.0] = true;
                grew = true;
            }
        }
        if !grew {
            return reached;
        }
    }
}

fn unreachable(graph: &Graph) -> Vec<Finding> {
    let steps: Vec<_> = edges(graph).map(|(from, _, to)| (from, to)).collect();
    let starts = graph.nodes().map(|(id, _)| id == graph.start).collect();
    let reached = closure(starts, &steps);
    findings_for(graph, &reached, |_| {
        format!(
            "cannot be reached from `{}`; add an edge to it or remove it",
            graph.node(graph.start).name
        )
    })
}

fn no_way_to_finish(graph: &Graph) -> Vec<Finding> {
    let backwards: Vec<_> = edges(graph).map(|(from, _, to)| (to, from)).collect();
    let last = graph
        .nodes()
        .map(|(_, node)| {
            node.routes()
                .flat_map(|(_, route)| route.edges())
                .any(|(_, target)| matches!(target, Target::Finish(_)))
        })
        .collect();
    let reaching = closure(last, &backwards);
    findings_for(graph, &reaching, |_| {
        "no way leads from it to the end; add an edge to `finish(STATUS)`".to_owned()
    })
}

/// One finding for each node that is not `fine`.
fn findings_for(graph: &Graph, fine: &[bool], message: impl Fn(NodeId) -> String) -> Vec<Finding> {
    graph
        .nodes()
        .filter(|(id, _)| !fine[id.0])
        .map(|(id, node)| Finding::node(node.line, &node.name, message(id)))
        .collect()
}

fn unread_options(graph: &Graph) -> Vec<Finding> {
    let conditions = graph
        .nodes()
        .flat_map(|(_, node)| node.routes())
        .flat_map(|(_, route)| route.edges())
        .filter_map(|(condition, _)| Some(condition?.limit));
    let limits = [graph.limits.recursion, graph.limits.model_calls];
    let read: Vec<Value> = settings(graph)
        .map(|(_, setting)| setting.value)
        .chain(conditions)
        .chain(limits.into_iter().flatten())
        .collect();
    graph
        .options
        .iter()
        .enumerate()
        .filter(|(index, _)| !read.contains(&Value::Option(super::OptionId(*index))))
        .map(|(_, option)| {
            Finding::file(
                option.line,
                format!(
                    "nothing reads option `{}`; use it in a condition, a setting or a limit, or remove it",
                    option.name
                ),
            )
        })
        .collect()
}

/// Every numeric setting, with its node.
fn settings(graph: &Graph) -> impl Iterator<Item = (&super::Node, Setting)> {
    graph
        .nodes()
        .flat_map(|(_, node)| node.config.settings().into_iter().map(move |setting| (node, setting)))
}

fn out_of_range(graph: &Graph) -> Vec<Finding> {
    let range = |value: Value| match value {
        Value::Fixed(number) => (number, number),
        Value::Option(id) => (graph.options[id.0].minimum, graph.options[id.0].maximum),
    };
    let mut findings: Vec<_> = settings(graph)
        .filter_map(|(node, setting)| {
            let Setting {
                name,
                value,
                smallest,
                largest,
            } = setting;
            let (minimum, maximum) = range(value);
            (minimum < smallest || maximum > largest).then(|| {
                Finding::node(
                    node.line,
                    &node.name,
                    format!("`{name}` can be {minimum} to {maximum}; it must stay within {smallest} to {largest}"),
                )
            })
        })
        .collect();
    if graph.limits.recursion.is_some_and(|limit| range(limit).0 < 1.0) {
        findings.push(Finding::file(0, "`recursion` can be 0; a walk needs at least one step"));
    }
    findings
}

/// Finds a cycle that a walk could repeat for ever.
///
/// An edge bounds its cycle if its condition counts a node of that cycle: each round brings the
/// condition nearer to closing. The loop removes edges that bound their cycle and edges on no cycle
/// until nothing changes. A cycle that remains is unbounded.
pub(super) fn unbounded_cycles(graph: &Graph) -> Option<Finding> {
    let mut open: Vec<_> = edges(graph).collect();
    loop {
        let components = components(graph, open.iter().map(|(from, _, to)| (*from, *to)));
        // Asked of an edge and another node, or of both ends of the edge: the edge is on the cycle.
        let share_a_cycle = |a: NodeId, b: NodeId| components[a.0] == components[b.0];
        let before = open.len();
        open.retain(|(from, condition, to)| {
            share_a_cycle(*from, *to) && !condition.is_some_and(|condition| share_a_cycle(*from, condition.counted))
        });
        if open.len() < before {
            continue;
        }
        let (first, _, _) = open.first()?;
        let cycle: Vec<_> = graph
            .nodes()
            .filter(|(id, _)| share_a_cycle(*first, *id))
            .map(|(_, node)| node.name.as_str())
            .collect();
        let node = graph.node(*first);
        return Some(Finding::node(
            node.line,
            &node.name,
            format!(
                "nothing bounds the cycle of {}; give one of its edges `while: visits(NODE) <= LIMIT` with a node of \
                 the cycle, or set `limits.recursion`",
                list(cycle)
            ),
        ));
    }
}

/// The strongly connected component of each node: two nodes are in the same one if a walk can come from either to the
/// other.
fn components(graph: &Graph, edges: impl Iterator<Item = (NodeId, NodeId)>) -> Vec<usize> {
    let mut joined = DiGraph::<(), ()>::new();
    let places: Vec<_> = graph.nodes().map(|_| joined.add_node(())).collect();
    for (from, to) in edges {
        joined.add_edge(places[from.0], places[to.0], ());
    }
    let mut components = vec![0; places.len()];
    for (number, component) in tarjan_scc(&joined).into_iter().enumerate() {
        for place in component {
            components[place.index()] = number;
        }
    }
    components
}

fn over_budget(graph: &Graph, effort: &mut Effort) -> Option<Finding> {
    let defaults = Options::defaults(&graph.options);
    // One step more than a walk may take, to see whether one would.
    let steps = graph
        .limits
        .recursion
        .map_or(u64::from(MAX_STEPS) + 1, |limit| limit.count(&defaults).into());
    let problem = match bound::worst_case_within(graph, &defaults, steps, effort) {
        Ok(worst) if worst.steps > u64::from(MAX_STEPS) => format!(
            "a walk can take more than {MAX_STEPS} steps; lower the limits that its conditions compare with, or set \
             `limits.recursion`"
        ),
        Ok(worst) => above_model_calls(graph, &defaults, worst)?,
        Err(error) => error.to_string(),
    };
    Some(Finding::file(0, problem))
}

/// Why the worst case with these options is not within `limits.model_calls`; `None` if it is, or if
/// the graph sets no such limit.
pub(super) fn budget_problem(graph: &Graph, options: &Options, effort: &mut Effort) -> Option<String> {
    graph.limits.model_calls?;
    match graph.worst_case_within(options, effort) {
        Ok(worst) => above_model_calls(graph, options, worst),
        Err(error) => Some(error.to_string()),
    }
}

fn above_model_calls(graph: &Graph, options: &Options, worst: WorstCase) -> Option<String> {
    let budget = u64::from(graph.limits.model_calls?.count(options));
    (worst.model_calls > budget).then(|| {
        format!(
            "the worst case is {} model calls, above the budget of {budget}; lower the options or raise \
             `limits.model_calls`",
            worst.model_calls
        )
    })
}

#[cfg(test)]
mod tests;

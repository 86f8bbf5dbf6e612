//! A graph as a Mermaid flowchart.

use std::fmt::Write as _;

use crate::graph::{Condition, FinishStatus, Graph, NodeId, Target};

/// Words that Mermaid does not take as the id of a node.
const RESERVED: [&str; 10] = [
    "class",
    "classdef",
    "click",
    "default",
    "end",
    "flowchart",
    "graph",
    "linkstyle",
    "style",
    "subgraph",
];

/// The flowchart's source: boxes are nodes, labelled with their action where its name differs; arrows carry the outcome
/// and, below it, the condition under which they are open.
pub fn flowchart(graph: &Graph) -> String {
    let mut chart = String::from("flowchart TD\n");
    for (id, node) in graph.nodes() {
        let action = node.action().name();
        let label = if node.name() == action {
            action.to_owned()
        } else {
            format!("{}<br/><small>{action}</small>", node.name())
        };
        let start = if id == graph.start() { "start([start]) --> " } else { "" };
        line(&mut chart, &format!("{start}{}[\"{label}\"]", box_id(graph, id)));
    }
    for status in FinishStatus::ALL {
        if arrows(graph).any(|arrow| arrow.to == Target::Finish(status)) {
            line(&mut chart, &format!("finish_{0}([\"finish: {0}\"])", status.name()));
        }
    }
    for arrow in merged(graph) {
        let to = match arrow.to {
            Target::Node(to) => box_id(graph, to),
            Target::Finish(status) => format!("finish_{}", status.name()),
        };
        line(
            &mut chart,
            &format!("{} -- \"{}\" --> {to}", box_id(graph, arrow.from), arrow.label),
        );
    }
    chart
}

struct Arrow<'a> {
    from: NodeId,
    outcome: &'static str,
    condition: Option<&'a Condition>,
    to: Target,
}

fn arrows(graph: &Graph) -> impl Iterator<Item = Arrow<'_>> {
    graph.nodes().flat_map(|(from, node)| {
        node.routes().flat_map(move |(outcome, route)| {
            route.edges().map(move |(condition, to)| Arrow {
                from,
                outcome: outcome.name(),
                condition,
                to,
            })
        })
    })
}

struct Merged {
    from: NodeId,
    to: Target,
    condition: String,
    label: String,
}

/// One arrow for all outcomes that lead from one node to the same place under the same condition.
fn merged(graph: &Graph) -> Vec<Merged> {
    let mut merged: Vec<Merged> = Vec::new();
    for arrow in arrows(graph) {
        let condition = arrow
            .condition
            .map(|condition| format!("<br/>{}", escape(&condition.to_string())))
            .unwrap_or_default();
        let same = merged
            .iter_mut()
            .find(|other| other.from == arrow.from && other.to == arrow.to && other.condition == condition);
        match same {
            Some(other) => {
                let end = other.label.len() - other.condition.len();
                other.label.insert_str(end, &format!(", {}", arrow.outcome));
            }
            None => merged.push(Merged {
                from: arrow.from,
                to: arrow.to,
                label: format!("{}{condition}", arrow.outcome),
                condition,
            }),
        }
    }
    merged
}

fn box_id(graph: &Graph, id: NodeId) -> String {
    let name = graph.node(id).name();
    let reserved = RESERVED.contains(&name) || name == "start" || name.starts_with("finish_");
    format!("{name}{}", if reserved { "_" } else { "" })
}

/// `<` opens a tag inside a label.
fn escape(text: &str) -> String {
    text.replace("<=", "≤").replace('<', "&lt;")
}

fn line(chart: &mut String, text: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(chart, "    {text}");
}

#[cfg(test)]
mod tests {
    use crate::catalog::{Catalog, builtin};

    #[test]
    fn flowcharts_of_the_built_in_graphs() {
        for graph in Catalog::load(None).unwrap().iter() {
            insta::assert_snapshot!(graph.name(), super::flowchart(graph));
        }
    }

    #[test]
    fn outcomes_with_one_target_share_an_arrow() {
        let chart = super::flowchart(&builtin("self-rag"));
        assert!(
            chart.contains("grade_documents -- \"all_relevant, some_relevant, unavailable\" --> generate\n"),
            "{chart}"
        );
        assert!(
            chart.contains("none_relevant<br/>visits(grade_documents) ≤ max_count"),
            "{chart}"
        );
    }
}

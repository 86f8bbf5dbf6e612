//! A graph as a Mermaid flowchart, and a walk's path on it.

mod path;

use std::fmt::Write as _;

use emend_proto::v1::WalkResult;

pub use self::path::ForeignWalk;
use self::path::{End, Path};
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

/// Style of visited boxes: dark text on light green, readable on a light and on a dark page.
const VISITED: &str = "fill:#c8e6c9,stroke:#2e7d32,stroke-width:2px,color:#1b1b1b";
/// Style of taken arrows.
const TAKEN: &str = "stroke:#2e7d32,stroke-width:4px";

/// The source of the flowchart. Boxes are nodes, labelled with their action if its name differs.
/// Arrows are labelled with the outcome and, below it, the condition of the edge.
pub fn flowchart(graph: &Graph) -> String {
    draw(graph, None)
}

/// The flowchart with the path of a walk. Visited boxes are filled and taken arrows are thick. A
/// box shows the numbers of the steps that visited it, an arrow those of the steps before it. A
/// walk that a limit ended has an extra box for its end.
///
/// # Errors
/// [`ForeignWalk`] when the walk is from another graph, or from another version of this one.
pub fn walked(graph: &Graph, result: &WalkResult) -> Result<String, ForeignWalk> {
    Ok(draw(graph, Some(&Path::of(graph, result)?)))
}

fn draw(graph: &Graph, path: Option<&Path>) -> String {
    let mut chart = String::from("flowchart TD\n");
    for (id, node) in graph.nodes() {
        let action = node.action().name();
        let mut label = if node.name() == action {
            action.to_owned()
        } else {
            format!("{}<br/><small>{action}</small>", node.name())
        };
        if let Some(numbers) = path.and_then(|path| path.nodes.get(&id)) {
            let _ = write!(label, "<br/>{}", steps(numbers));
        }
        let start = if id == graph.start() { "start([start]) --> " } else { "" };
        line(&mut chart, &format!("{start}{}[\"{label}\"]", box_id(graph, id)));
    }
    for status in FinishStatus::ALL {
        if arrows(graph).any(|arrow| arrow.to == Target::Finish(status)) {
            let label = match path.map(|path| &path.end) {
                Some(End::Finish(end, Some(instead))) if *end == status => {
                    format!("finish: {}<br/>ended {instead}", status.name())
                }
                _ => format!("finish: {}", status.name()),
            };
            line(
                &mut chart,
                &format!("{}([\"{label}\"])", target_id(graph, Target::Finish(status))),
            );
        }
    }
    // Mermaid numbers arrows in the order in which they are written; arrow 0 leads from `start`.
    let mut taken = vec![0];
    let arrows = merged(graph);
    for (index, arrow) in arrows.iter().enumerate() {
        let numbers = path.and_then(|path| path.numbers_of(arrow.from, arrow.to, &arrow.condition));
        let label = match numbers {
            Some(numbers) => format!("{}: {}", steps(numbers), arrow.label),
            None => arrow.label.clone(),
        };
        taken.extend(numbers.map(|_| index + 1));
        let (from, to) = (box_id(graph, arrow.from), target_id(graph, arrow.to));
        line(&mut chart, &format!("{from} -- \"{label}\" --> {to}"));
    }
    let Some(path) = path else { return chart };
    let mut visited: Vec<String> = path.nodes.keys().map(|id| box_id(graph, *id)).collect();
    match &path.end {
        End::Finish(status, _) => visited.push(target_id(graph, Target::Finish(*status))),
        End::Limit { before, text } => {
            line(&mut chart, &format!("finish_early([\"{text}\"])"));
            let before = box_id(graph, *before);
            line(&mut chart, &format!("{before} -. \"ends before it\" .-> finish_early"));
            taken.push(arrows.len() + 1);
            visited.push("finish_early".to_owned());
        }
    }
    let taken: Vec<String> = taken.iter().map(ToString::to_string).collect();
    line(&mut chart, &format!("classDef visited {VISITED}"));
    line(&mut chart, &format!("class {} visited", visited.join(",")));
    line(&mut chart, &format!("linkStyle {} {TAKEN}", taken.join(",")));
    chart
}

fn steps(numbers: &[u32]) -> String {
    let list: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    format!("step{} {}", if numbers.len() == 1 { "" } else { "s" }, list.join(", "))
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
        let condition = condition_line(arrow.condition);
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

/// The text of a condition on an arrow, on a line below the outcomes.
fn condition_line(condition: Option<&Condition>) -> String {
    condition
        .map(|condition| format!("<br/>{}", escape(&condition.to_string())))
        .unwrap_or_default()
}

fn target_id(graph: &Graph, target: Target) -> String {
    match target {
        Target::Node(id) => box_id(graph, id),
        Target::Finish(status) => format!("finish_{}", status.name()),
    }
}

fn box_id(graph: &Graph, id: NodeId) -> String {
    let name = graph.node(id).name();
    let reserved = RESERVED.contains(&name) || name == "start" || name.starts_with("finish_");
    format!("{name}{}", if reserved { "_" } else { "" })
}

/// Escapes `<`, which opens a tag inside a label.
fn escape(text: &str) -> String {
    text.replace("<=", "≤").replace('<', "&lt;")
}

fn line(chart: &mut String, text: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(chart, "    {text}");
}

#[cfg(test)]
mod tests;

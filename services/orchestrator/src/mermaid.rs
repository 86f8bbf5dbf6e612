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

/// How visited boxes look: dark on light green, on a light page and on a dark one.
const VISITED: &str = "fill:#c8e6c9,stroke:#2e7d32,stroke-width:2px,color:#1b1b1b";
/// How taken arrows look.
const TAKEN: &str = "stroke:#2e7d32,stroke-width:4px";

/// The flowchart's source: boxes are nodes, labelled with their action where its name differs; arrows carry the outcome
/// and, below it, the condition under which they are open.
pub fn flowchart(graph: &Graph) -> String {
    draw(graph, None)
}

/// The flowchart with a walk's path on it: visited boxes are filled and taken arrows thick, both with the numbers of
/// their steps; an arrow has the number of the step it leaves. A walk that ran out of something ends in a box of its own.
///
/// # Errors
/// [`ForeignWalk`] when the walk is one of another graph, or of another version of this one.
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
    // Mermaid numbers arrows in the order in which they are written; the first is the one to the start.
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

/// A condition as an arrow words it, below its outcomes.
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
    use emend_proto::v1::{Limit, Step, WalkStatus};

    use super::{path::CONDENSE, *};
    use crate::catalog::{Catalog, builtin};

    /// A walk of `self-rag` whose first step is the second: one that made a follow-up stand on its own came before.
    fn walk(path: &[(&str, &str)]) -> WalkResult {
        let step = |(index, (node, outcome)): (usize, &(&str, &str))| Step {
            number: u32::try_from(index).unwrap() + 2,
            node: (*node).to_owned(),
            action: (*node).to_owned(),
            outcome: (*outcome).to_owned(),
            ..Step::default()
        };
        let condense = Step {
            number: 1,
            node: CONDENSE.to_owned(),
            action: CONDENSE.to_owned(),
            outcome: "rewritten".to_owned(),
            ..Step::default()
        };
        WalkResult {
            graph: "self-rag".to_owned(),
            status: WalkStatus::Answered.into(),
            steps: [condense]
                .into_iter()
                .chain(path.iter().enumerate().map(step))
                .collect(),
            ..WalkResult::default()
        }
    }

    const CORRECTED: [(&str, &str); 7] = [
        ("retrieve", "passages"),
        ("grade_documents", "none_relevant"),
        ("rewrite", "rewritten"),
        ("retrieve", "passages"),
        ("grade_documents", "some_relevant"),
        ("generate", "generated"),
        ("grade_generation", "useful"),
    ];

    #[test]
    fn flowcharts_of_the_built_in_graphs() {
        for graph in Catalog::load(None).unwrap().iter() {
            insta::assert_snapshot!(graph.name(), flowchart(graph));
        }
    }

    #[test]
    fn outcomes_with_one_target_share_an_arrow() {
        let chart = flowchart(&builtin("self-rag"));
        assert!(
            chart.contains("grade_documents -- \"all_relevant, some_relevant, unavailable\" --> generate\n"),
            "{chart}"
        );
        assert!(
            chart.contains("none_relevant<br/>visits(grade_documents) ≤ max_count"),
            "{chart}"
        );
    }

    #[test]
    fn a_walk_is_drawn_on_its_graph() {
        insta::assert_snapshot!(
            "self-rag_walked",
            walked(&builtin("self-rag"), &walk(&CORRECTED)).unwrap()
        );
    }

    #[test]
    fn a_walk_that_ran_out_of_something_ends_in_a_box_of_its_own() {
        let mut result = walk(&CORRECTED[..3]);
        result.status = WalkStatus::Abstained.into();
        result.exhausted = Limit::Steps.into();
        insta::assert_snapshot!(
            "self-rag_walked_to_a_limit",
            walked(&builtin("self-rag"), &result).unwrap()
        );
        let chart = walked(
            &builtin("self-rag"),
            &WalkResult {
                steps: Vec::new(),
                ..result
            },
        )
        .unwrap();
        assert!(
            chart.contains("retrieve -. \"ends before it\" .-> finish_early"),
            "{chart}"
        );
    }

    #[test]
    fn a_closed_condition_is_seen_in_the_arrow_that_was_taken() {
        let mut result = walk(&[
            ("retrieve", "passages"),
            ("grade_documents", "none_relevant"),
            ("generate_without_documents", "generated"),
        ]);
        result.status = WalkStatus::Ungrounded.into();
        result.options.insert("max_count".to_owned(), 0.0);
        let chart = walked(&builtin("self-rag"), &result).unwrap();
        assert!(
            chart.contains("-- \"step 3: none_relevant\" --> generate_without_documents"),
            "{chart}"
        );
        result.options.clear();
        let error = walked(&builtin("self-rag"), &result).unwrap_err().to_string();
        assert!(
            error.contains("step 4 is `generate_without_documents` where the graph leads to `rewrite`"),
            "{error}"
        );
    }

    #[test]
    fn an_end_that_the_evidence_did_not_bear_out_is_shown() {
        let mut result = walk(&CORRECTED);
        result.status = WalkStatus::Unverified.into();
        let chart = walked(&builtin("self-rag"), &result).unwrap();
        assert!(chart.contains("finish: answered<br/>ended unverified"), "{chart}");
    }

    #[test]
    fn a_walk_of_another_graph_is_refused_with_both_names() {
        let error = walked(&builtin("plain-rag"), &walk(&CORRECTED)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "this is a walk of graph `self-rag` and not of graph `plain-rag`; show it on `self-rag`"
        );
        let unknown = walk(&[("retreive", "passages")]);
        let error = walked(&builtin("self-rag"), &unknown).unwrap_err().to_string();
        assert!(
            error.contains("step 2 visits `retreive`, which is no node of it"),
            "{error}"
        );
        let unknown = walk(&[("retrieve", "useful")]);
        let error = walked(&builtin("self-rag"), &unknown).unwrap_err().to_string();
        assert!(
            error.contains("step 2 ended in `useful`, which is no outcome"),
            "{error}"
        );
    }
}

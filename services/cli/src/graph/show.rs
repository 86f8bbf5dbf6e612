//! Graphs in words.

use std::fmt::Write as _;

use anyhow::Result;
use emend_orchestrator::graph::{Graph, OptionSpec, Options};

use super::{cut_off, worst_case};

/// One graph of the list: what it does, its options, and the most a walk costs.
pub(super) fn entry(graph: &Graph) -> Result<String> {
    let options: Vec<String> = graph
        .options()
        .iter()
        .map(|option| format!("{}={}", option.name, default(option)))
        .collect();
    let mut text = format!("{}\n    {}\n", graph.name(), graph.description());
    let _ = writeln!(text, "    options: {}", options.join(" "));
    let costs: Vec<String> = worst_case(graph, &Options::defaults(graph.options()))?
        .into_iter()
        .map(|(name, figure, formula)| match formula.as_str() {
            "" => format!("{figure} {name}"),
            formula => format!("{figure} {name} ({formula})"),
        })
        .collect();
    let _ = writeln!(text, "    at most {}", costs.join(", "));
    Ok(text)
}

/// All about one graph.
pub(super) fn summary(graph: &Graph) -> Result<String> {
    let mut text = format!("{}\n    {}\n\n", graph.name(), graph.description());
    text.push_str(&costs(graph, &Options::defaults(graph.options()))?);
    if !graph.options().is_empty() {
        text.push_str("\noptions:\n");
    }
    for option in graph.options() {
        let _ = writeln!(
            text,
            "  {:<18} {:>10}  ({}–{})  {}",
            option.name,
            default(option),
            option.minimum,
            option.maximum,
            option.description
        );
    }
    text.push_str("\nnodes:\n");
    for (id, node) in graph.nodes() {
        let start = if id == graph.start() { "  (start)" } else { "" };
        let _ = writeln!(text, "  {}: {}{start}", node.name(), node.action().name());
        for (outcome, route) in node.routes() {
            for (condition, target) in route.edges() {
                let condition = condition
                    .map(|condition| format!("  while {condition}"))
                    .unwrap_or_default();
                let _ = writeln!(
                    text,
                    "    {:<18} → {}{condition}",
                    outcome.name(),
                    graph.target_name(target)
                );
            }
        }
    }
    Ok(text)
}

/// The most a walk with these options costs, exactly.
pub(super) fn costs(graph: &Graph, options: &Options) -> Result<String> {
    let mut text = String::from("at most:\n");
    for (name, figure, formula) in worst_case(graph, options)? {
        let line = format!("  {name:<12} {figure:>6}   {formula}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if let Some(reason) = cut_off(graph, options)? {
        let _ = writeln!(text, "  {reason}");
    }
    Ok(text)
}

/// An option's default; without one the service that reads it has a calibrated value of its own.
fn default(option: &OptionSpec) -> String {
    option
        .default
        .map_or_else(|| "calibrated".to_owned(), |value| value.to_string())
}

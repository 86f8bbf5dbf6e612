//! `emend graph`: the graphs of this build, and files of one's own.

use std::{fmt::Write as _, fs, process::ExitCode};

use anyhow::{Context as _, Result};
use emend_orchestrator::{
    catalog::Catalog,
    graph::{Graph, Options},
    mermaid,
};

use crate::args::{GraphCommand, GraphFormat};

/// Runs the command.
///
/// # Errors
/// No graph has that name, or the file cannot be read or walked.
pub fn run(command: GraphCommand) -> Result<ExitCode> {
    match command {
        GraphCommand::List { graphs_dir } => {
            for graph in Catalog::load(graphs_dir.as_deref())?.iter() {
                let worst = worst_case(graph)?;
                anstream::println!("{:<22} {worst}\n    {}", graph.name(), graph.description());
            }
        }
        GraphCommand::Show {
            name,
            format,
            graphs_dir,
        } => {
            let catalog = Catalog::load(graphs_dir.as_deref())?;
            let graph = catalog.get(&name)?;
            match format {
                GraphFormat::Summary => anstream::print!("{}", summary(graph)?),
                GraphFormat::Mermaid => anstream::print!("{}", mermaid::flowchart(graph)),
                GraphFormat::Yaml => anstream::print!("{}", graph.source()),
            }
        }
        GraphCommand::Check { file } => {
            let name = file.display().to_string();
            let yaml = fs::read_to_string(&file).with_context(|| format!("cannot read {name}"))?;
            let graph = Graph::parse(&name, &yaml)?;
            anstream::println!(
                "{name}: graph `{}` can be walked; worst case {}",
                graph.name(),
                worst_case(&graph)?
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn worst_case(graph: &Graph) -> Result<String> {
    let worst = graph.worst_case(&Options::defaults(graph.options()))?;
    Ok(format!(
        "at most {} steps, {} model calls, {} web searches",
        worst.steps, worst.model_calls, worst.web_searches
    ))
}

fn summary(graph: &Graph) -> Result<String> {
    let mut text = format!(
        "{}\n    {}\n\n{}\n\noptions:\n",
        graph.name(),
        graph.description(),
        worst_case(graph)?
    );
    for option in graph.options() {
        let _ = writeln!(
            text,
            "  {:<18} {:>5}  ({}–{})  {}",
            option.name, option.default, option.minimum, option.maximum, option.description
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

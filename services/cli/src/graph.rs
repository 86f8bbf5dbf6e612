//! `emend graph`: the graphs of this build, files of one's own, and walks drawn on either.

mod check;
mod show;

use std::{fs, path::Path, process::ExitCode, sync::Arc};

use anyhow::{Context as _, Result};
use emend_orchestrator::{
    catalog::Catalog,
    graph::{Graph, Options},
    mermaid,
};

use crate::{
    args::{GraphCommand, GraphFormat},
    terminal, walk_file,
};

/// Exit status of a wrong command line, as clap has it.
const MISUSED: u8 = 2;

/// Runs the command.
///
/// # Errors
/// No graph has that name, the file cannot be read or walked, or the walk is one of another graph.
pub fn run(command: GraphCommand) -> Result<ExitCode> {
    match command {
        GraphCommand::List { graphs_dir } => {
            for graph in Catalog::load(graphs_dir.as_deref())?.iter() {
                terminal::print(show::entry(graph)?)?;
            }
        }
        GraphCommand::Show {
            graph,
            format,
            walk,
            graphs_dir,
        } => {
            let graph = found(&graph, graphs_dir.as_deref())?;
            if let Some(walk) = walk {
                if !matches!(format, None | Some(GraphFormat::Mermaid)) {
                    terminal::eprintln("error: --walk draws on the flowchart; leave --format out or make it mermaid");
                    return Ok(ExitCode::from(MISUSED));
                }
                terminal::print(mermaid::walked(&graph, &walk_file::read(&walk)?)?)?;
                return Ok(ExitCode::SUCCESS);
            }
            match format.unwrap_or(GraphFormat::Summary) {
                GraphFormat::Summary => terminal::print(show::summary(&graph)?)?,
                GraphFormat::Mermaid => terminal::print(mermaid::flowchart(&graph))?,
                GraphFormat::Yaml => terminal::print(graph.source())?,
            }
        }
        GraphCommand::Check {
            graph,
            options,
            json,
            graphs_dir,
        } => return check::run(&graph, options, json, graphs_dir.as_deref()),
    }
    Ok(ExitCode::SUCCESS)
}

/// The graph of a name or a file. What looks like a path is one; a name that no graph has may be one too.
pub(crate) fn found(name: &str, graphs_dir: Option<&Path>) -> Result<Arc<Graph>> {
    let path = Path::new(name);
    let is_path = path.components().count() > 1
        || path
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml");
    if !is_path {
        let catalog = Catalog::load(graphs_dir)?;
        match catalog.get(name) {
            Ok(graph) => return Ok(Arc::clone(graph)),
            Err(unknown) if !path.is_file() => return Err(unknown.into()),
            Err(_) => {}
        }
    }
    let yaml = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    Ok(Arc::new(Graph::parse(name, &yaml)?))
}

/// Name, figure and formula of each part of the worst case; a formula that is but the figure is left out.
fn worst_case(graph: &Graph, options: &Options) -> Result<[(&'static str, u64, String); 3]> {
    let worst = graph.worst_case(options)?;
    let formulas = graph.formulas();
    let part = |one: &'static str, many: &'static str, figure: u64, formula: &str| {
        let name = if figure == 1 { one } else { many };
        let says_more = formula != figure.to_string();
        (name, figure, if says_more { formula.to_owned() } else { String::new() })
    };
    Ok([
        part("step", "steps", worst.steps, &formulas.steps),
        part("model call", "model calls", worst.model_calls, &formulas.model_calls),
        part("web search", "web searches", worst.web_searches, &formulas.web_searches),
    ])
}

/// What ends a walk whose edges do not, when the worst case comes to it.
fn cut_off(graph: &Graph, options: &Options) -> Result<Option<String>> {
    let Some(limit) = graph.limits().recursion else {
        return Ok(None);
    };
    let limit = limit.count(options);
    let reached = graph.worst_case(options)?.steps >= u64::from(limit);
    Ok(reached.then(|| format!("the recursion limit of {limit} steps ends a walk, whatever the formulas come to")))
}

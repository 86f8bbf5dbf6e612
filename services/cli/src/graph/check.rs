//! `emend graph check`: what is wrong with a graph, or its exact worst case.

use std::{collections::HashMap, path::Path, process::ExitCode};

use anyhow::{Result, anyhow};
use emend_orchestrator::graph::{Effort, Graph, InvalidGraph, Options};
use emend_proto::v1::{Finding, ValidateGraphResponse, WorstCase};

use super::{found, show};
use crate::{json, terminal};

/// Runs the command.
///
/// # Errors
/// The graph cannot be found or read or, without `json`, is wrong; an option is unknown or out of its range.
pub(super) fn run(
    name: &str,
    options: Vec<(String, f64)>,
    as_json: bool,
    graphs_dir: Option<&Path>,
) -> Result<ExitCode> {
    let graph = match found(name, graphs_dir) {
        Ok(graph) => graph,
        Err(error) => {
            return match error.downcast_ref::<InvalidGraph>() {
                Some(invalid) if as_json => wrong(invalid.findings.iter().map(|finding| Finding {
                    message: finding.message.clone(),
                    node: finding.node.clone().unwrap_or_default(),
                    line: finding.line,
                })),
                _ => Err(error),
            };
        }
    };
    let options = effective(&graph, options)?;
    if let Some(problem) = graph.budget_problem(&options, &mut Effort::default()) {
        if !as_json {
            return Err(anyhow!("{name}: {problem}"));
        }
        return wrong([Finding {
            message: problem,
            ..Finding::default()
        }]);
    }
    if as_json {
        terminal::print_json(&sound(&graph, &options)?, true)?;
        return Ok(ExitCode::SUCCESS);
    }
    terminal::println(format_args!("{name}: graph `{}` can be walked", graph.name()))?;
    terminal::print(show::costs(&graph, &options)?)?;
    let named: Vec<String> = options
        .named(graph.options())
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if !named.is_empty() {
        terminal::println(format_args!("with {}", named.join(" ")))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn effective(graph: &Graph, options: Vec<(String, f64)>) -> Result<Options> {
    let overrides: HashMap<String, f64> = options.into_iter().collect();
    Options::resolve(graph.options(), &overrides).map_err(|invalid| {
        let problems: Vec<String> = invalid
            .into_iter()
            .map(|option| format!("option `{}`: {}", option.name, option.problem))
            .collect();
        anyhow!(problems.join("\n"))
    })
}

/// What `ValidateGraph` answers, with the graph's name and the options in force beside it.
fn sound(graph: &Graph, options: &Options) -> Result<serde_json::Value> {
    let worst = graph.worst_case(options)?;
    let formulas = graph.formulas();
    let response = ValidateGraphResponse {
        findings: Vec::new(),
        worst_case: Some(WorstCase {
            steps: worst.steps,
            model_calls: worst.model_calls,
            web_searches: worst.web_searches,
            steps_formula: formulas.steps.clone(),
            model_calls_formula: formulas.model_calls.clone(),
            web_searches_formula: formulas.web_searches.clone(),
        }),
    };
    let mut value = json::value("ValidateGraphResponse", &response)?;
    value["graph"] = graph.name().into();
    value["options"] = options
        .named(graph.options())
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    Ok(value)
}

fn wrong(findings: impl IntoIterator<Item = Finding>) -> Result<ExitCode> {
    let response = ValidateGraphResponse {
        findings: findings.into_iter().collect(),
        worst_case: None,
    };
    terminal::print_json(&json::value("ValidateGraphResponse", &response)?, true)?;
    Ok(ExitCode::from(1))
}

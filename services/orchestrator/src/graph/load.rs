//! Turns a parsed file into a graph: looks up every name and reports unknown ones.

mod names;
mod node;
mod route;

use std::sync::{Arc, OnceLock};

use emend_core::{cut, did_you_mean};
use serde_saphyr::Spanned;

use super::{
    DEFAULT_RECURSION_LIMIT, FinishStatus, Graph, Limits, MAX_COUNT, MAX_EDGES, MAX_NODES, MAX_OPTIONS, OptionSpec,
    Value,
    file::{Entries, GraphFile, LimitsFile, OptionFile, RouteFile, line, read},
    finding::{Finding, MAX_FINDINGS},
};

/// Reads a graph. `check` still has to check it as a whole.
pub(in crate::graph) fn load(yaml: &str) -> Result<Graph, Vec<Finding>> {
    let file = read(yaml).map_err(|finding| vec![finding])?;
    Loader::default().graph(file, yaml)
}

#[derive(Default)]
struct Loader {
    options: Vec<OptionSpec>,
    nodes: Vec<String>,
    findings: Vec<Finding>,
}

impl Loader {
    fn graph(mut self, file: GraphFile, yaml: &str) -> Result<Graph, Vec<Finding>> {
        if let Some(problem) = size_problem(&file) {
            return Err(vec![Finding::file(0, problem)]);
        }
        if let Some(problem) = name_problem(&file.name.value, '-') {
            self.file_finding(line(&file.name), format!("name `{}` {problem}", cut(&file.name.value)));
        }
        for (name, option) in file.options.0 {
            self.option(name, &option);
        }
        for (name, node) in &file.nodes.0 {
            if let Some(problem) = name_problem(name, '_') {
                self.findings
                    .push(Finding::node(line(node), name, format!("its name {problem}")));
            } else if name == "finish" {
                self.findings.push(Finding::node(
                    line(node),
                    name,
                    "`finish` is the end and cannot be a node",
                ));
            }
        }
        self.nodes = file.nodes.0.iter().map(|(name, _)| name.clone()).collect();

        let limits = self.limits(&file.limits);
        let start = self.node_id(line(&file.start), None, &file.start.value);
        let mut edges = self.edges_by_node(file.edges);
        let nodes: Vec<_> = file
            .nodes
            .0
            .into_iter()
            .zip(&mut edges)
            .map(|((name, node), edges)| self.node(name, &node, edges.take()))
            .collect();

        self.check_counts();
        if !self.findings.is_empty() {
            self.findings.sort_by_key(|finding| finding.line);
            return Err(self.findings);
        }
        let (Some(limits), Some(start), Some(nodes)) = (limits, start, nodes.into_iter().collect()) else {
            return Err(vec![Finding::file(0, "the file could not be read")]);
        };
        Ok(Graph {
            name: file.name.value,
            description: file.description.trim().to_owned(),
            options: self.options,
            limits,
            start,
            nodes,
            source: Arc::from(yaml),
            formulas: OnceLock::new(),
        })
    }

    fn option(&mut self, name: String, option: &Spanned<OptionFile>) {
        let at = line(option);
        let OptionFile {
            description,
            default,
            min,
            max,
        } = &option.value;
        if let Some(problem) = name_problem(&name, '_') {
            self.file_finding(at, format!("option `{}`: its name {problem}", cut(&name)));
        }
        let most = f64::from(MAX_COUNT);
        let bounded = [*min, *max].iter().all(|number| number.abs() <= most);
        if !bounded || min > max || default.is_some_and(|default| !(*min..=*max).contains(&default)) {
            let found = default.map_or_else(|| "none".to_owned(), |default| default.to_string());
            self.file_finding(
                at,
                format!(
                    "option `{}`: expected min <= default <= max within {most}, found min {min}, default {found}, max {max}",
                    cut(&name)
                ),
            );
        }
        self.options.push(OptionSpec {
            name,
            description: description.trim().to_owned(),
            default: *default,
            minimum: *min,
            maximum: *max,
            whole: false,
            line: at,
        });
    }

    /// Checks that options read as counts have whole numbers and a default, which the worst case
    /// needs.
    fn check_counts(&mut self) {
        for option in self.options.iter().filter(|option| option.whole) {
            let OptionSpec {
                name,
                default,
                minimum,
                maximum,
                line,
                ..
            } = option;
            let numbers = [*default, Some(*minimum), Some(*maximum)];
            let whole = numbers
                .iter()
                .all(|number| number.is_some_and(|number| number >= 0.0 && number.fract() == 0.0));
            if !whole {
                let found = default.map_or_else(|| "none".to_owned(), |default| default.to_string());
                self.findings.push(Finding::file(
                    *line,
                    format!(
                        "option `{}` is read as a count: expected whole numbers from 0 and a default, found min {minimum}, \
                         default {found}, max {maximum}",
                        cut(name)
                    ),
                ));
            }
        }
    }

    fn limits(&mut self, file: &LimitsFile) -> Option<Limits> {
        let recursion = match &file.recursion {
            None => Some(Some(Value::Fixed(DEFAULT_RECURSION_LIMIT.into()))),
            Some(word) if word.value == "none" => Some(None),
            Some(word) => self.count(None, "recursion", word).map(Some),
        };
        let at_limit = match &file.at_limit {
            None => Some(FinishStatus::Unverified),
            Some(word) => self.word(
                None,
                "at_limit",
                word,
                &[
                    ("unverified", FinishStatus::Unverified),
                    ("abstained", FinishStatus::Abstained),
                ],
            ),
        };
        let model_calls = match &file.model_calls {
            None => Some(None),
            Some(word) => self.count(None, "model_calls", word).map(Some),
        };
        Some(Limits {
            recursion: recursion?,
            at_limit: at_limit?,
            model_calls: model_calls?,
        })
    }

    /// The edges of each node, in the order of the nodes.
    fn edges_by_node(&mut self, edges: Entries<Entries<RouteFile>>) -> Vec<Option<Spanned<Entries<RouteFile>>>> {
        let mut by_node: Vec<_> = self.nodes.iter().map(|_| None).collect();
        for (name, routes) in edges.0 {
            if let Some(id) = self.node_id(line(&routes), None, &name) {
                by_node[id.0] = Some(routes);
            }
        }
        by_node
    }

    /// `; did you mean …?` for an unknown word. Looking up costs the words times the names, so only the findings that are
    /// reported have one.
    fn hint<'a>(&self, word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
        if self.findings.len() < MAX_FINDINGS {
            did_you_mean(word, known)
        } else {
            String::new()
        }
    }

    fn file_finding(&mut self, at: u32, message: String) {
        self.findings.push(Finding::file(at, message));
    }
}

/// Why a name is not allowed, if it is not. Names are used as they are in YAML, URLs, span names
/// and Mermaid.
fn name_problem(name: &str, separator: char) -> Option<String> {
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
    let rest = name
        .chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == separator);
    let fits = starts && rest && name.len() <= 64;
    (!fits).then(|| format!("must be 1 to 64 of a-z, 0-9 and `{separator}`, beginning with a letter"))
}

/// Why the file has too much of something; `None` if it has not.
fn size_problem(file: &GraphFile) -> Option<String> {
    let edges: usize = file.edges.0.iter().map(|(_, routes)| count_edges(&routes.value)).sum();
    let sizes = [
        ("nodes", file.nodes.0.len(), MAX_NODES),
        ("nodes with edges", file.edges.0.len(), MAX_NODES),
        ("edges", edges, MAX_EDGES),
        ("options", file.options.0.len(), MAX_OPTIONS),
    ];
    let (what, number, most) = sizes.into_iter().find(|(_, number, most)| number > most)?;
    Some(format!(
        "the graph has {number} {what}; at most {most} are allowed: leave some out, or divide it into several graphs"
    ))
}

fn count_edges(routes: &Entries<RouteFile>) -> usize {
    let edges = |route: &RouteFile| match route {
        RouteFile::To(_) => 1,
        RouteFile::FirstOpen(edges) => edges.len().max(1),
    };
    routes.0.iter().map(|(_, route)| edges(&route.value)).sum()
}

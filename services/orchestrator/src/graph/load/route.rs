//! Routes: for each outcome, the edges in the order in which they are tried.

use emend_core::cut;
use serde_saphyr::Spanned;

use super::Loader;
use crate::graph::{
    Action, Condition, FinishStatus, Outcome, Route, Target,
    condition::Words,
    file::{EdgeFile, Entries, RouteFile, line},
    finding::{Finding, list},
};

/// Longest condition, in bytes: two names and what joins them. Steps and drawings repeat it.
const MAX_CONDITION_BYTES: usize = 256;

impl Loader {
    pub(super) fn routes(
        &mut self,
        name: &str,
        action: Action,
        edges: Spanned<Entries<RouteFile>>,
    ) -> Option<Vec<Route>> {
        let at = line(&edges);
        let mut routes: Vec<Option<Route>> = action.outcomes().map(|_| None).collect();
        let mut complete = true;
        let mut named: Vec<Outcome> = Vec::new();
        for (word, route) in edges.value.0 {
            let Some(outcome) = action.outcomes().find(|outcome| outcome.name() == word) else {
                let hint = self.hint(&word, action.outcomes().map(Outcome::name));
                self.findings.push(Finding::node(
                    line(&route),
                    name,
                    format!(
                        "`{}` is no outcome of `{action}`{hint}; its outcomes are {}",
                        cut(&word),
                        list(action.outcomes().map(Outcome::name))
                    ),
                ));
                complete = false;
                continue;
            };
            named.push(outcome);
            routes[outcome.index()] = self.route(name, &route);
        }
        let unmapped: Vec<_> = action.outcomes().filter(|outcome| !named.contains(outcome)).collect();
        if !unmapped.is_empty() {
            self.findings.push(Finding::node(
                at,
                name,
                format!(
                    "no edge for {}; every outcome needs one",
                    list(unmapped.into_iter().map(Outcome::name))
                ),
            ));
            complete = false;
        }
        if complete { routes.into_iter().collect() } else { None }
    }

    fn route(&mut self, name: &str, route: &Spanned<RouteFile>) -> Option<Route> {
        let edges = match &route.value {
            RouteFile::To(target) => {
                let otherwise = self.target(line(route), name, target)?;
                return Some(Route {
                    bounded: Vec::new(),
                    otherwise,
                });
            }
            RouteFile::FirstOpen(edges) => edges,
        };
        let Some((last, rest)) = edges.split_last() else {
            self.findings.push(Finding::node(
                line(route),
                name,
                "an empty list of edges; give at least one",
            ));
            return None;
        };
        let bounded: Vec<_> = rest.iter().map(|edge| self.bounded(line(route), name, edge)).collect();
        let otherwise = match last {
            EdgeFile {
                to: None,
                condition: None,
                otherwise: Some(target),
            }
            | EdgeFile {
                to: Some(target),
                condition: None,
                otherwise: None,
            } => self.target(line(target), name, &target.value),
            EdgeFile { to, .. } => {
                let at = to.as_ref().map_or(line(route), line);
                self.findings.push(Finding::node(
                    at,
                    name,
                    "the last edge of a list must always be open: write `else: TARGET`",
                ));
                None
            }
        };
        Some(Route {
            bounded: bounded.into_iter().collect::<Option<_>>()?,
            otherwise: otherwise?,
        })
    }

    fn bounded(&mut self, at: u32, name: &str, edge: &EdgeFile) -> Option<(Condition, Target)> {
        let EdgeFile {
            to: Some(to),
            condition: Some(condition),
            otherwise: None,
        } = edge
        else {
            let at = edge.to.as_ref().or(edge.otherwise.as_ref()).map_or(at, line);
            self.findings.push(Finding::node(
                at,
                name,
                "expected `{to: TARGET, while: CONDITION}`; only the last edge of a list is `else`",
            ));
            return None;
        };
        let target = self.target(line(to), name, &to.value);
        let condition = self.condition(name, condition);
        Some((condition?, target?))
    }

    fn condition(&mut self, name: &str, text: &Spanned<String>) -> Option<Condition> {
        let at = line(text);
        let words = Words::parse(&text.value).filter(|_| text.value.len() <= MAX_CONDITION_BYTES);
        let Some(words) = words else {
            self.findings.push(Finding::node(
                at,
                name,
                format!(
                    "expected `visits(NODE) <= LIMIT` or `visits(NODE) < LIMIT`, found `{}`",
                    cut(&text.value)
                ),
            ));
            return None;
        };
        let counted = self.node_id(at, Some(name), words.counted);
        let limit = self.counted(at, Some(name), "a limit", words.limit);
        Some(Condition {
            counted: counted?,
            comparison: words.comparison,
            limit: limit?,
            text: text.value.trim().to_owned(),
        })
    }

    fn target(&mut self, at: u32, name: &str, word: &str) -> Option<Target> {
        let Some(status) = word.strip_prefix("finish(").and_then(|rest| rest.strip_suffix(')')) else {
            if word == "finish" {
                let statuses = list(FinishStatus::ALL.iter().map(|status| status.name()));
                self.findings.push(Finding::node(
                    at,
                    name,
                    format!("`finish` needs a status, as in `finish(answered)`; the statuses are {statuses}"),
                ));
                return None;
            }
            return self.node_id(at, Some(name), word).map(Target::Node);
        };
        let found = FinishStatus::ALL
            .into_iter()
            .find(|known| known.name() == status.trim());
        if found.is_none() {
            let names = || FinishStatus::ALL.iter().map(|status| status.name());
            let hint = self.hint(status, names());
            self.findings.push(Finding::node(
                at,
                name,
                format!(
                    "unknown status `{}`{hint}; the statuses are {}",
                    cut(status),
                    list(names())
                ),
            ));
        }
        found.map(Target::Finish)
    }
}

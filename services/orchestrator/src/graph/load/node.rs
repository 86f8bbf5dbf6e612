//! Nodes: the action, its settings, and an edge for each outcome.

use serde_saphyr::Spanned;

use super::{Loader, list};
use crate::graph::{
    Action, MinimumSupport, Node, Outcome, Purpose, Task, Ungraded, Value, WebResults,
    file::{Entries, NodeFile, RouteFile, line},
    finding::Finding,
};

impl Loader {
    pub(super) fn node(
        &mut self,
        name: String,
        node: &Spanned<NodeFile>,
        edges: Option<Spanned<Entries<RouteFile>>>,
    ) -> Option<Node> {
        let Some(action) = Action::named(&node.value.action.value) else {
            let known: Vec<_> = Action::ALL.iter().map(|action| (action.name(), *action)).collect();
            self.word(Some(&name), "action", &node.value.action, &known);
            return None;
        };
        let task = self.task(&name, action, &node.value);
        let Some(edges) = edges else {
            self.findings.push(Finding::node(
                line(node),
                &name,
                format!(
                    "has no edges; map its outcomes {}",
                    list(action.outcomes().map(Outcome::name))
                ),
            ));
            return None;
        };
        let routes = self.routes(&name, action, edges);
        Some(Node {
            task: task?,
            routes: routes?,
            name,
            line: line(node),
        })
    }

    fn task(&mut self, name: &str, action: Action, node: &NodeFile) -> Option<Task> {
        let settings = [
            ("top_k", &node.top_k),
            ("ungraded", &node.ungraded),
            ("purpose", &node.purpose),
            ("max_results", &node.max_results),
            ("fill_to", &node.fill_to),
            ("support", &node.support),
        ];
        let read: &[&str] = match action {
            Action::Retrieve => &["top_k"],
            Action::GradeDocuments => &["ungraded"],
            Action::Rewrite => &["purpose"],
            Action::WebSearch => &["max_results", "fill_to"],
            Action::GradeGeneration => &["support"],
            Action::Generate | Action::GenerateWithoutDocuments | Action::FinalizeResponse => &[],
        };
        for (setting, given) in settings {
            if let Some(given) = given
                && !read.contains(&setting)
            {
                let reads = if read.is_empty() {
                    "nothing".to_owned()
                } else {
                    list(read.iter().copied())
                };
                self.findings.push(Finding::node(
                    line(given),
                    name,
                    format!("`{setting}` is not a setting of `{action}`, which reads {reads}"),
                ));
            }
        }
        Some(match action {
            Action::Retrieve => Task::Retrieve {
                top_k: self.required(name, node, "top_k", node.top_k.as_ref())?,
            },
            Action::GradeDocuments => Task::GradeDocuments {
                ungraded: match &node.ungraded {
                    None => Ungraded::default(),
                    Some(word) => self.word(
                        Some(name),
                        "ungraded",
                        word,
                        &[("keep", Ungraded::Keep), ("drop", Ungraded::Drop)],
                    )?,
                },
            },
            Action::Rewrite => Task::Rewrite {
                purpose: match &node.purpose {
                    None => Purpose::Retrieval,
                    Some(word) => self.word(
                        Some(name),
                        "purpose",
                        word,
                        &[("retrieval", Purpose::Retrieval), ("web_search", Purpose::WebSearch)],
                    )?,
                },
            },
            Action::WebSearch => Task::WebSearch {
                results: match (&node.max_results, &node.fill_to) {
                    (None, Some(word)) => WebResults::FillTo(self.value(Some(name), "fill_to", word)?),
                    (Some(word), None) => WebResults::Exactly(self.value(Some(name), "max_results", word)?),
                    _ => {
                        self.findings.push(Finding::node(
                            line(&node.action),
                            name,
                            "needs either `max_results` or `fill_to`",
                        ));
                        return None;
                    }
                },
            },
            Action::Generate => Task::Generate,
            Action::GenerateWithoutDocuments => Task::GenerateWithoutDocuments,
            Action::GradeGeneration => Task::GradeGeneration {
                support: match &node.support {
                    None => MinimumSupport::default(),
                    Some(word) => self.word(
                        Some(name),
                        "support",
                        word,
                        &[
                            ("partially", MinimumSupport::Partially),
                            ("fully", MinimumSupport::Fully),
                        ],
                    )?,
                },
            },
            Action::FinalizeResponse => Task::FinalizeResponse,
        })
    }

    fn required(
        &mut self,
        name: &str,
        node: &NodeFile,
        setting: &str,
        given: Option<&Spanned<String>>,
    ) -> Option<Value> {
        match given {
            Some(word) => self.value(Some(name), setting, word),
            None => {
                self.findings.push(Finding::node(
                    line(&node.action),
                    name,
                    format!("needs `{setting}`: a number or the name of an option"),
                ));
                None
            }
        }
    }
}

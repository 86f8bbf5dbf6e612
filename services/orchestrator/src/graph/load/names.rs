//! Looking words up: nodes, options, and closed sets of words. What is not known is answered with what is.

use serde_saphyr::Spanned;

use super::{Loader, list};
use crate::graph::{MAXIMUM_COUNT, NodeId, Value, condition, did_you_mean, file::line, finding::Finding};

impl Loader {
    pub(super) fn node_id(&mut self, at: u32, node: Option<&str>, word: &str) -> Option<NodeId> {
        let found = self.nodes.iter().position(|name| name == word);
        if found.is_none() {
            let hint = did_you_mean(word, self.nodes.iter().map(String::as_str));
            self.findings.push(Finding {
                message: format!(
                    "unknown node `{word}`{hint}; the nodes are {}",
                    list(self.nodes.iter().map(String::as_str))
                ),
                node: node.map(str::to_owned),
                line: at,
            });
        }
        found.map(NodeId)
    }

    pub(super) fn value(&mut self, node: Option<&str>, setting: &str, word: &Spanned<String>) -> Option<Value> {
        self.number(line(word), node, &format!("`{setting}`"), &word.value)
    }

    pub(super) fn number(&mut self, at: u32, node: Option<&str>, what: &str, word: &str) -> Option<Value> {
        let found = condition::value(word, &self.options);
        if found.is_none() {
            let names = || self.options.iter().map(|option| option.name.as_str());
            let hint = did_you_mean(word, names());
            let message = format!(
                "{what} must be a whole number up to {MAXIMUM_COUNT} or an option, found `{word}`{hint}; the options \
                 are {}",
                list(names())
            );
            self.findings.push(Finding {
                message,
                node: node.map(str::to_owned),
                line: at,
            });
        }
        found
    }

    /// One of a closed set of words.
    pub(super) fn word<T: Copy>(
        &mut self,
        node: Option<&str>,
        setting: &str,
        word: &Spanned<String>,
        known: &[(&str, T)],
    ) -> Option<T> {
        let found = known.iter().find(|(name, _)| *name == word.value);
        if found.is_none() {
            let names = || known.iter().map(|(name, _)| *name);
            let hint = did_you_mean(&word.value, names());
            self.findings.push(Finding {
                message: format!(
                    "unknown `{setting}`: `{}`{hint}; expected one of {}",
                    word.value,
                    list(names())
                ),
                node: node.map(str::to_owned),
                line: line(word),
            });
        }
        found.map(|(_, value)| *value)
    }
}

//! Looks up nodes, options, and words of closed sets. The finding for an unknown name lists the
//! known ones (R17).

use emend_core::cut;
use serde_saphyr::Spanned;

use super::Loader;
use crate::graph::{
    MAX_COUNT, NodeId, Value, condition,
    file::line,
    finding::{Finding, list},
};

impl Loader {
    pub(super) fn node_id(&mut self, at: u32, node: Option<&str>, word: &str) -> Option<NodeId> {
        let found = self.nodes.iter().position(|name| name == word);
        if found.is_none() {
            let hint = self.hint(word, self.nodes.iter().map(String::as_str));
            self.findings.push(Finding {
                message: format!(
                    "unknown node `{}`{hint}; the nodes are {}",
                    cut(word),
                    list(self.nodes.iter().map(String::as_str))
                ),
                node: node.map(str::to_owned),
                line: at,
            });
        }
        found.map(NodeId)
    }

    /// Reads a count: a whole number or an option, which is then marked as a count.
    pub(super) fn count(&mut self, node: Option<&str>, setting: &str, word: &Spanned<String>) -> Option<Value> {
        self.counted(line(word), node, &format!("`{setting}`"), &word.value)
    }

    pub(super) fn counted(&mut self, at: u32, node: Option<&str>, what: &str, word: &str) -> Option<Value> {
        match condition::value(word, &self.options) {
            Some(Value::Option(id)) => {
                self.options[id.0].whole = true;
                Some(Value::Option(id))
            }
            Some(Value::Fixed(number)) if number >= 0.0 && number.fract() == 0.0 => Some(Value::Fixed(number)),
            _ => self.no_number(at, node, what, &format!("a whole number up to {MAX_COUNT}"), word),
        }
    }

    /// Reads a number, whole or not, or an option.
    pub(super) fn ratio(&mut self, node: Option<&str>, setting: &str, word: &Spanned<String>) -> Option<Value> {
        condition::value(&word.value, &self.options)
            .or_else(|| self.no_number(line(word), node, &format!("`{setting}`"), "a number", &word.value))
    }

    fn no_number(&mut self, at: u32, node: Option<&str>, what: &str, expected: &str, word: &str) -> Option<Value> {
        let names = || self.options.iter().map(|option| option.name.as_str());
        let hint = self.hint(word, names());
        let message = format!(
            "{what} must be {expected} or an option, found `{}`{hint}; the options are {}",
            cut(word),
            list(names())
        );
        self.findings.push(Finding {
            message,
            node: node.map(str::to_owned),
            line: at,
        });
        None
    }

    /// Reads one of a closed set of words.
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
            let hint = self.hint(&word.value, names());
            self.findings.push(Finding {
                message: format!(
                    "unknown `{setting}`: `{}`{hint}; expected one of {}",
                    cut(&word.value),
                    list(names())
                ),
                node: node.map(str::to_owned),
                line: line(word),
            });
        }
        found.map(|(_, value)| *value)
    }
}

//! Conditions of edges: `visits(generate) <= max_retries`.

use std::fmt;

use super::{NodeId, OptionSpec, Options, Value};

/// A condition of an edge: open while a node has fewer visits than a limit. Visits only grow, so a
/// closed condition stays closed (R1).
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub(super) counted: NodeId,
    pub(super) comparison: Comparison,
    pub(super) limit: Value,
    pub(super) text: String,
}

/// How visits and the limit compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

impl Condition {
    /// The node whose visits it counts.
    pub fn counted(&self) -> NodeId {
        self.counted
    }

    /// Whether the edge is open after these visits, indexed by node.
    pub fn is_open(&self, visits: &[u32], options: &Options) -> bool {
        visits[self.counted.0] < self.closes_at(options)
    }

    /// The number of visits from which it is closed.
    pub(super) fn closes_at(&self, options: &Options) -> u32 {
        let limit = self.limit.count(options);
        match self.comparison {
            Comparison::Below => limit,
            Comparison::AtMost => limit.saturating_add(1),
        }
    }
}

impl fmt::Display for Condition {
    /// As the graph file words it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The parts of a condition, before its names are looked up.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words<'a> {
    pub(super) counted: &'a str,
    pub(super) comparison: Comparison,
    pub(super) limit: &'a str,
}

impl<'a> Words<'a> {
    /// Splits `visits(NODE) < LIMIT` or `visits(NODE) <= LIMIT`.
    pub(super) fn parse(text: &'a str) -> Option<Words<'a>> {
        let (counted, rest) = text.trim().strip_prefix("visits(")?.split_once(')')?;
        let rest = rest.trim_start().strip_prefix('<')?;
        let (comparison, limit) = match rest.strip_prefix('=') {
            Some(limit) => (Comparison::AtMost, limit),
            None => (Comparison::Below, rest),
        };
        let (counted, limit) = (counted.trim(), limit.trim());
        let is_word = |word: &str| !word.is_empty() && !word.contains(char::is_whitespace);
        (is_word(counted) && is_word(limit)).then_some(Words {
            counted,
            comparison,
            limit,
        })
    }
}

/// Reads a number or the name of an option; `None` if it is neither, or beyond ±`MAX_COUNT`.
pub(super) fn value(text: &str, options: &[OptionSpec]) -> Option<Value> {
    if let Ok(number) = text.parse::<f64>() {
        let bounded = (-f64::from(super::MAX_COUNT)..=f64::from(super::MAX_COUNT)).contains(&number);
        return bounded.then_some(Value::Fixed(number));
    }
    options
        .iter()
        .position(|option| option.name == text)
        .map(|index| Value::Option(super::OptionId(index)))
}

#[cfg(test)]
mod tests;

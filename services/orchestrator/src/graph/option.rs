//! Options of a graph: declared in its file, overridden by a question, each within a declared range.

use emend_core::{did_you_mean, list_names};
use std::collections::BTreeMap;

/// Index of an option in its graph's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OptionId(pub(super) usize);

/// One option as the graph file declares it.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionSpec {
    /// Its name in graph files and questions.
    pub name: String,
    /// What it does, one line.
    pub description: String,
    /// The value unless a question overrides it; unset if the service that reads it has its own
    /// default.
    pub default: Option<f64>,
    /// Smallest value allowed.
    pub minimum: f64,
    /// Largest value allowed.
    pub maximum: f64,
    /// Whether it counts something, so that only whole numbers are allowed.
    pub whole: bool,
    /// Line of its declaration in the file, from 1.
    pub line: u32,
}

/// A number in a graph: a literal, or the value of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A literal.
    Fixed(f64),
    /// The value of an option.
    Option(OptionId),
}

impl Value {
    /// The number with these options in force. Loading a graph and overriding an option both check
    /// that a count is set, whole, and within 0 to [`super::MAX_COUNT`].
    pub fn count(self, options: &Options) -> u32 {
        let number = self.ratio(options).unwrap_or_default();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "every count is whole and within 0..=MAX_COUNT"
        )]
        {
            number as u32
        }
    }

    /// The number with these options in force; unset for an option without a value.
    pub fn ratio(self, options: &Options) -> Option<f64> {
        match self {
            Value::Fixed(number) => Some(number),
            Value::Option(id) => options.0[id.0],
        }
    }
}

/// The options in force for one walk: a value for each option that the graph declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Options(Vec<Option<f64>>);

/// What is wrong with the override of one option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidOption {
    /// The option as the question names it.
    pub name: String,
    /// What is wrong and what is allowed.
    pub problem: String,
}

impl Options {
    /// The declared defaults.
    pub fn defaults(specs: &[OptionSpec]) -> Options {
        Options(specs.iter().map(|spec| spec.default).collect())
    }

    /// The defaults, overridden by those of a question (R17).
    ///
    /// # Errors
    /// Everything that is wrong with the overrides, ordered by name.
    pub fn resolve<'a>(
        specs: &[OptionSpec],
        overrides: impl IntoIterator<Item = (&'a String, &'a f64)>,
    ) -> Result<Options, Vec<InvalidOption>> {
        let mut options = Options::defaults(specs);
        let mut problems = BTreeMap::new();
        for (name, &value) in overrides {
            match specs.iter().position(|spec| spec.name == *name) {
                Some(index) => match specs[index].problem_with(value) {
                    None => options.0[index] = Some(value),
                    Some(problem) => drop(problems.insert(name.clone(), problem)),
                },
                None => drop(problems.insert(name.clone(), unknown(specs, name))),
            }
        }
        if problems.is_empty() {
            return Ok(options);
        }
        Err(problems
            .into_iter()
            .map(|(name, problem)| InvalidOption { name, problem })
            .collect())
    }

    /// Name and value of each option that has one.
    pub fn named<'a>(&'a self, specs: &'a [OptionSpec]) -> impl Iterator<Item = (&'a str, f64)> {
        specs
            .iter()
            .zip(&self.0)
            .filter_map(|(spec, value)| Some((spec.name.as_str(), (*value)?)))
    }

    /// These options with another value for one of them. The value is not checked.
    pub(super) fn replaced(&self, id: OptionId, value: f64) -> Options {
        let mut options = self.clone();
        options.0[id.0] = Some(value);
        options
    }

    #[cfg(test)]
    pub(crate) fn with(mut self, graph: &super::Graph, name: &str, value: f64) -> Options {
        let index = graph.options().iter().position(|spec| spec.name == name).unwrap();
        self.0[index] = Some(value);
        self
    }
}

impl OptionSpec {
    /// Why `value` is not allowed, if it is not.
    fn problem_with(&self, value: f64) -> Option<String> {
        let OptionSpec { minimum, maximum, .. } = self;
        if !(*minimum..=*maximum).contains(&value) {
            Some(format!("{value} is outside {minimum} to {maximum}"))
        } else if self.whole && value.fract() != 0.0 {
            Some(format!(
                "{value} is not whole; give a whole number from {minimum} to {maximum}"
            ))
        } else {
            None
        }
    }
}

fn unknown(specs: &[OptionSpec], name: &str) -> String {
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let hint = did_you_mean(name, names.iter().copied());
    if names.is_empty() {
        return "unknown option; this graph has none".to_owned();
    }
    format!("unknown option{hint}; the options are {}", list_names(names))
}

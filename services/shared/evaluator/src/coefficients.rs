//! Coefficient files: logistic models by task and group, and the decision thresholds.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use emend_core::Source;
use serde::{Deserialize, Serialize};

use super::EvaluateError;
use super::features::{self, Features, Group};
use super::fit::CLAMP;

/// The built-in files by embedder. The last one needs no embedder.
const BUILTIN: [(&str, &str); 3] = [
    (
        "multilingual-e5-small",
        include_str!("coefficients/multilingual-e5-small.toml"),
    ),
    ("all-MiniLM-L6-v2", include_str!("coefficients/all-MiniLM-L6-v2.toml")),
    ("lexical", include_str!("coefficients/lexical.toml")),
];

/// A coefficients file that is reloaded when it changes.
#[derive(Debug)]
pub(crate) struct CoefficientsFile(pub(crate) PathBuf);

impl Source for CoefficientsFile {
    type Value = Coefficients;
    type Error = EvaluateError;
    const NAME: &'static str = "evaluator coefficients";

    fn files(&self) -> Vec<PathBuf> {
        vec![self.0.clone()]
    }

    fn read(&self) -> Result<Coefficients, EvaluateError> {
        Coefficients::read(&self.0)
    }
}

/// The logistic models by task and group of languages, and the decision thresholds.
#[derive(Clone, Debug)]
pub struct Coefficients {
    /// The origin, for messages.
    name: String,
    thresholds: Thresholds,
    models: BTreeMap<Task, BTreeMap<Group, Model>>,
}

/// Decision thresholds on probabilities, 0–1.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// A passage is relevant at or above this.
    pub relevant: f64,
    /// The evaluation is incorrect if all passages are below this (CRAG's lower threshold).
    pub lower: f64,
    /// The evaluation is correct if a passage is at or above this (CRAG's upper threshold).
    pub upper: f64,
    /// A sentence is fully supported at or above this.
    pub fully: f64,
    /// A sentence is partially supported at or above this.
    pub partially: f64,
    /// An answer is useful at or above this.
    pub useful: f64,
    /// An answer that quotes the evidence is useful at or above this.
    pub quote: f64,
    /// A strip is kept at or above this.
    pub strip: f64,
    /// A sentence answers the question at or above this. If the best one is below it, an extractive answer abstains.
    pub answers: f64,
}

/// The task of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Task {
    Relevance,
    Answer,
    Groundedness,
    /// Groundedness of an answer of a few words.
    GroundedFragment,
    Usefulness,
    /// Usefulness of an answer of a few words.
    UsefulFragment,
}

impl Task {
    const ALL: [Self; 6] = [
        Self::Relevance,
        Self::Answer,
        Self::Groundedness,
        Self::GroundedFragment,
        Self::Usefulness,
        Self::UsefulFragment,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Relevance => "relevance",
            Self::Answer => "answer",
            Self::Groundedness => "groundedness",
            Self::GroundedFragment => "groundedness_fragment",
            Self::Usefulness => "usefulness",
            Self::UsefulFragment => "usefulness_fragment",
        }
    }

    pub(super) fn features(self) -> &'static [&'static str] {
        match self {
            Self::Relevance => features::RELEVANCE,
            Self::Answer => features::ANSWER,
            Self::Groundedness | Self::GroundedFragment => features::GROUNDEDNESS,
            Self::Usefulness | Self::UsefulFragment => features::USEFULNESS,
        }
    }
}

/// A logistic regression over standardized features.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Model {
    pub(super) bias: f64,
    pub(super) features: BTreeMap<String, Term>,
}

/// One feature of a model: `weight · (value − mean) / scale`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Term {
    pub(super) weight: f64,
    pub(super) mean: f64,
    pub(super) scale: f64,
}

impl Model {
    fn probability(&self, features: &Features) -> f64 {
        let logit = self.features.iter().fold(self.bias, |sum, (name, term)| {
            // Clamp outliers: the model does not extrapolate well beyond the fitted range.
            let value = features
                .get(name)
                .map_or(0.0, |value| ((value - term.mean) / term.scale).clamp(-CLAMP, CLAMP));
            sum + term.weight * value
        });
        1.0 / (1.0 + (-logit).exp())
    }
}

#[derive(Deserialize)]
struct File {
    thresholds: Thresholds,
    #[serde(flatten)]
    models: BTreeMap<String, BTreeMap<String, Model>>,
}

impl Coefficients {
    /// The built-in coefficients for an embedder, or those without embedder features if it has none.
    ///
    /// # Errors
    /// [`EvaluateError::Coefficients`] if the built-in file is invalid.
    pub fn builtin(embedder: &str) -> Result<Self, EvaluateError> {
        let (name, source) = BUILTIN
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(embedder))
            .unwrap_or(&BUILTIN[BUILTIN.len() - 1]);
        Self::parse(name, source)
    }

    /// Reads the coefficients from a file.
    ///
    /// # Errors
    /// [`EvaluateError::Read`], or [`EvaluateError::Coefficients`] for a task, group, feature or threshold that is
    /// missing or unknown.
    pub fn read(path: &Path) -> Result<Self, EvaluateError> {
        let source = std::fs::read_to_string(path).map_err(|source| EvaluateError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&path.display().to_string(), &source)
    }

    fn parse(name: &str, source: &str) -> Result<Self, EvaluateError> {
        let invalid = |reason: String| EvaluateError::Coefficients {
            file: name.to_owned(),
            reason,
        };
        let file: File = toml::from_str(source).map_err(|error| invalid(error.to_string()))?;
        check_thresholds(&file.thresholds).map_err(invalid)?;
        let mut models = BTreeMap::new();
        for (task_name, groups) in file.models {
            let Some(task) = Task::ALL.into_iter().find(|task| task.name() == task_name) else {
                return Err(invalid(format!(
                    "unknown task {task_name}; known: {}",
                    Task::ALL.map(Task::name).join(", ")
                )));
            };
            let mut found = BTreeMap::new();
            for (group_name, model) in groups {
                let Some(group) = Group::ALL.into_iter().find(|group| group.name() == group_name) else {
                    let known = Group::ALL.map(Group::name).join(", ");
                    return Err(invalid(format!(
                        "unknown group {group_name} of {task_name}; known: {known}"
                    )));
                };
                check(task, &model).map_err(|reason| invalid(format!("{task_name}.{group_name}: {reason}")))?;
                found.insert(group, model);
            }
            models.insert(task, found);
        }
        for task in Task::ALL {
            if !models
                .get(&task)
                .is_some_and(|groups| groups.contains_key(&Group::Alphabet))
            {
                return Err(invalid(format!(
                    "{}.{} is missing",
                    task.name(),
                    Group::Alphabet.name()
                )));
            }
        }
        Ok(Self {
            name: name.to_owned(),
            thresholds: file.thresholds,
            models,
        })
    }

    /// The origin: an embedder's id, `lexical`, or a path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The decision thresholds.
    pub fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    pub(super) fn set_thresholds(&mut self, thresholds: Thresholds) {
        self.thresholds = thresholds;
    }

    pub(super) fn set(&mut self, task: Task, group: Group, model: Model) {
        self.models.entry(task).or_default().insert(group, model);
    }

    /// Removes the models of a group, so that those for alphabets judge its pairs.
    pub(super) fn remove_group(&mut self, group: Group) {
        if group != Group::Alphabet {
            self.models.values_mut().for_each(|models| {
                models.remove(&group);
            });
        }
    }

    /// Serializes to the format that [`read`](Self::read) reads, with `about` in comments at the start.
    pub fn to_toml(&self, about: &str) -> String {
        let mut file = String::new();
        for line in about.lines() {
            let line = format!("# {line}");
            file.push_str(line.trim_end());
            file.push('\n');
        }
        file.push_str("\n[thresholds]\n");
        for (name, value) in self.thresholds.named() {
            // Writing to a string never fails.
            let _ = writeln!(file, "{name} = {value:?}");
        }
        for (task, groups) in &self.models {
            for (group, model) in groups {
                let (task, group) = (task.name(), group.name());
                let _ = writeln!(
                    file,
                    "\n[{task}.{group}]\nbias = {:.4}\n\n[{task}.{group}.features]",
                    model.bias
                );
                for (name, term) in &model.features {
                    let Term { weight, mean, scale } = term;
                    let _ = writeln!(
                        file,
                        "{name} = {{ weight = {weight:.4}, mean = {mean:.4}, scale = {scale:.5} }}"
                    );
                }
            }
        }
        file
    }

    fn model(&self, task: Task, group: Group) -> Option<&Model> {
        let groups = self.models.get(&task)?;
        groups.get(&group).or_else(|| groups.get(&Group::Alphabet))
    }

    /// Whether a model uses cosine features, so that texts have to be embedded.
    pub(super) fn needs_cosines(&self, task: Task, group: Group) -> bool {
        self.model(task, group)
            .is_some_and(|model| model.features.keys().any(|name| name.starts_with("cosine")))
    }

    /// The probability of the positive class of `task`, 0–1; 0.5 without a model.
    pub(super) fn probability(&self, task: Task, group: Group, features: &Features) -> f64 {
        self.model(task, group).map_or(0.5, |model| model.probability(features))
    }
}

fn check(task: Task, model: &Model) -> Result<(), String> {
    for (name, term) in &model.features {
        if !task.features().contains(&name.as_str()) {
            return Err(format!("unknown feature {name}; known: {}", task.features().join(", ")));
        }
        if !(term.weight.is_finite() && term.mean.is_finite() && term.scale.is_finite() && term.scale > 0.0) {
            return Err(format!("feature {name} needs finite numbers and a scale above 0"));
        }
    }
    Ok(())
}

impl Thresholds {
    /// All thresholds with their names.
    fn named(&self) -> [(&'static str, f64); 9] {
        let Self {
            relevant,
            lower,
            upper,
            fully,
            partially,
            useful,
            quote,
            strip,
            answers,
        } = *self;
        [
            ("relevant", relevant),
            ("lower", lower),
            ("upper", upper),
            ("fully", fully),
            ("partially", partially),
            ("useful", useful),
            ("quote", quote),
            ("strip", strip),
            ("answers", answers),
        ]
    }
}

fn check_thresholds(thresholds: &Thresholds) -> Result<(), String> {
    for (name, value) in thresholds.named() {
        if !(0.0..=1.0).contains(&value) {
            return Err(format!("threshold {name} is {value}; it must be from 0 to 1"));
        }
    }
    let Thresholds {
        lower,
        upper,
        fully,
        partially,
        ..
    } = *thresholds;
    for (low, high, below, above) in [
        ("lower", "upper", lower, upper),
        ("partially", "fully", partially, fully),
    ] {
        if below > above {
            return Err(format!("threshold {low} is {below}, above {high}, which is {above}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

//! Files of coefficients: logistic models by task and group, and the thresholds on their probabilities.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::EvaluateError;
use super::features::{self, Features, Group};
use super::fit::CLAMP;

/// The built-in files by embedder; the last one needs none.
const BUILTIN: [(&str, &str); 3] = [
    (
        "multilingual-e5-small",
        include_str!("coefficients/multilingual-e5-small.toml"),
    ),
    ("all-MiniLM-L6-v2", include_str!("coefficients/all-MiniLM-L6-v2.toml")),
    ("lexical", include_str!("coefficients/lexical.toml")),
];

/// What to judge with: a model for each task and group of languages.
#[derive(Clone, Debug)]
pub struct Coefficients {
    /// Where they come from, for messages.
    name: String,
    thresholds: Thresholds,
    models: BTreeMap<Task, BTreeMap<Group, Model>>,
}

/// Where probabilities become decisions; all 0–1.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// A passage is relevant from here on.
    pub relevant: f64,
    /// All passages below: the evaluation is incorrect (CRAG's lower threshold).
    pub lower: f64,
    /// A passage from here on: the evaluation is correct (CRAG's upper threshold).
    pub upper: f64,
    /// A sentence is fully supported from here on.
    pub fully: f64,
    /// A sentence is partially supported from here on.
    pub partially: f64,
    /// An answer is useful from here on.
    pub useful: f64,
    /// A strip is kept from here on.
    pub strip: f64,
    /// A sentence answers the question from here on; below, an extractive answer abstains.
    pub answers: f64,
}

/// What is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Task {
    Relevance,
    Answer,
    Groundedness,
    /// Groundedness of an answer in a few words.
    GroundedFragment,
    Usefulness,
    /// Usefulness of an answer in a few words.
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

/// A logistic regression over standardised features.
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
            // Far outside of what was seen, a line is a bad guess.
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
    /// The built-in coefficients for an embedder, or the ones that need none where it has none.
    ///
    /// # Errors
    /// [`EvaluateError::Coefficients`] never, unless a built-in file is broken.
    pub fn builtin(embedder: &str) -> Result<Self, EvaluateError> {
        let (name, source) = BUILTIN
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(embedder))
            .unwrap_or(&BUILTIN[BUILTIN.len() - 1]);
        Self::parse(name, source)
    }

    /// The coefficients of a file.
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

    /// Where they come from: an embedder's id, `lexical`, or a path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where probabilities become decisions.
    pub fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    pub(super) fn set_thresholds(&mut self, thresholds: Thresholds) {
        self.thresholds = thresholds;
    }

    pub(super) fn set(&mut self, task: Task, group: Group, model: Model) {
        self.models.entry(task).or_default().insert(group, model);
    }

    /// Drops a group's models; those for alphabets judge its pairs.
    pub(super) fn forget(&mut self, group: Group) {
        if group != Group::Alphabet {
            self.models.values_mut().for_each(|models| {
                models.remove(&group);
            });
        }
    }

    /// The file that [`read`](Self::read) reads, with `about` in comments at its head.
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

    /// Whether a model asks for cosines, so that texts have to be embedded.
    pub(super) fn needs_cosines(&self, task: Task, group: Group) -> bool {
        self.model(task, group)
            .is_some_and(|model| model.features.keys().any(|name| name.starts_with("cosine")))
    }

    /// The probability of the task's yes, 0–1.
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
    /// All of them by name.
    fn named(&self) -> [(&'static str, f64); 8] {
        let Self {
            relevant,
            lower,
            upper,
            fully,
            partially,
            useful,
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
mod tests {
    use super::*;

    const THRESHOLDS: &str = "[thresholds]\nrelevant = 0.5\nlower = 0.3\nupper = 0.7\nfully = 0.6\npartially = 0.4\nuseful = 0.5\nstrip = 0.3\nanswers = 0.3\n";

    fn file(relevance: &str) -> String {
        let others = [
            "answer",
            "groundedness",
            "groundedness_fragment",
            "usefulness",
            "usefulness_fragment",
        ]
        .map(|task| format!("[{task}.alphabet]\nbias = 0.0\nfeatures = {{}}\n"))
        .join("");
        format!("{THRESHOLDS}{others}[relevance.alphabet]\n{relevance}\n")
    }

    #[test]
    fn built_in_files_are_valid_and_unknown_embedders_get_words_only() {
        for (name, _) in BUILTIN {
            assert_eq!(Coefficients::builtin(name).unwrap().name(), name);
        }
        let unknown = Coefficients::builtin("hashed-256").unwrap();
        assert_eq!(unknown.name(), "lexical");
        for task in Task::ALL {
            for group in [Group::Alphabet, Group::Cjk, Group::Cross] {
                assert!(!unknown.needs_cosines(task, group));
            }
        }
        assert!(
            Coefficients::builtin("multilingual-e5-small")
                .unwrap()
                .needs_cosines(Task::Relevance, Group::Cjk)
        );
    }

    #[test]
    fn a_probability_is_logistic() {
        let source = file("bias = 0.5\nfeatures = { names_in_sentence = { weight = 2.0, mean = 0.5, scale = 0.25 } }");
        let coefficients = Coefficients::parse("test", &source).unwrap();
        let question = features::Question::new("boiler age");
        let features = features::relevance(&question, &features::View::new("boiler"), None);
        // No name is missing, so the share is 1.
        let expected = 1.0 / (1.0 + f64::exp(-4.5));
        assert!((coefficients.probability(Task::Relevance, Group::Alphabet, &features) - expected).abs() < 1e-9);
        assert!((coefficients.probability(Task::Relevance, Group::Cross, &features) - expected).abs() < 1e-9);
    }

    #[test]
    fn wrong_files_are_refused_with_what_is_known() {
        for (source, words) in [
            (
                file("bias = 0.0\nfeatures = { overlapp = { weight = 1.0, mean = 0.0, scale = 1.0 } }"),
                "overlap_weighted",
            ),
            (
                file("bias = 0.0\nfeatures = { sentence_overlap = { weight = 1.0, mean = 0.0, scale = 0.0 } }"),
                "scale above 0",
            ),
            (
                file("bias = 0.0\nfeatures = {}").replace("[relevance.alphabet]", "[relevance.latin]"),
                "known: alphabet, cjk, cross",
            ),
            (
                file("bias = 0.0\nfeatures = {}").replace("[relevance.", "[relevant."),
                "known: relevance",
            ),
            (
                file("bias = 0.0\nfeatures = {}").replace("[answer.alphabet]", "[answer.cjk]"),
                "answer.alphabet is missing",
            ),
            (
                file("bias = 0.0\nfeatures = {}").replace("lower = 0.3", "lower = 0.9"),
                "lower is 0.9, above upper",
            ),
            (
                file("bias = 0.0\nfeatures = {}").replace("useful = 0.5", "useful = 5"),
                "useful is 5",
            ),
            (file("bias = 0.0\nfeatures = {}").replace("strip = 0.3\n", ""), "strip"),
        ] {
            let error = Coefficients::parse("test", &source).unwrap_err().to_string();
            assert!(error.contains(words), "{words}: {error}");
        }
        assert_eq!(
            Coefficients::read(Path::new("/nonexistent.toml")).unwrap_err().code(),
            "read"
        );
    }
}

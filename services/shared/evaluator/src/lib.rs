//! The in-process evaluator. It judges whether a passage is relevant, a sentence is grounded, and an answer is useful.
//!
//! It uses logistic regressions over lexical features and an embedder's cosine similarities, fitted to labelled pairs
//! by a [`Calibrator`]. It does no reasoning and no arithmetic: it detects that a date is missing, but not that a date
//! is off by a year.

mod answers;
mod calibrate;
mod coefficients;
mod error;
mod features;
mod fit;
mod groundedness;
pub mod metrics;
mod named;
mod pair;
mod quotation;
mod sentences;
mod text_pairs;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

pub use calibrate::{Calibrated, Calibration, Calibrator, Observed, Targets};
pub use coefficients::{Coefficients, Thresholds};
use coefficients::{CoefficientsFile, Task};
use emend_core::{Turns, Watched};
use emend_models::embed::Embedder;
pub use emend_models::verdict::Support;
use emend_text as text;
pub use error::EvaluateError;
use features::{Features, Group, Question, View};
pub use groundedness::Groundedness;
use groundedness::groundedness_task;
pub use named::unnamed;
pub use pair::{Pair, PassageText};
pub use sentences::SentenceScore;

/// Command-line options of the evaluator.
#[derive(Args, Clone, Debug, Default)]
pub struct EvaluatorOptions {
    /// A file of coefficients and thresholds in place of the built-in one of the embedder.
    #[arg(long, env = "EMEND_EVALUATOR_COEFFICIENTS", value_name = "FILE")]
    pub evaluator_coefficients: Option<PathBuf>,
}

/// Evaluates pairs of texts. Cheap to clone.
///
/// Texts are analyzed and compared in pieces, each in its turn among all callers (see [`Turns`]). Dropping a future ends its
/// work with the piece that is being computed.
#[derive(Clone)]
pub struct Evaluator {
    embedder: Arc<dyn Embedder>,
    coefficients: Arc<Watched<CoefficientsFile>>,
}

/// The usefulness of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usefulness {
    /// The probability that the answer addresses the question, 0–1; 0 for an answer that abstains.
    pub probability: f64,
    /// The utility score, 1–5: the probability in five equal steps.
    pub utility: u8,
    /// Whether the probabilities reach the thresholds: `useful`, and `quote` for a quotation.
    pub useful: bool,
}

impl Usefulness {
    fn new(probability: f64, threshold: f64) -> Self {
        Self {
            probability,
            utility: 1 + (probability * 5.0).floor().clamp(0.0, 4.0) as u8,
            useful: probability >= threshold,
        }
    }
}

/// The inputs and the result of a judgement.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The model's task: `relevance`, `answer`, `groundedness`, `groundedness_fragment`, `usefulness` or
    /// `usefulness_fragment`.
    pub task: &'static str,
    /// `alphabet`, `cjk` or `cross`.
    pub group: &'static str,
    /// The features by name. Those of the embedder start with `cosine`.
    pub features: Vec<(&'static str, f64)>,
    /// The resulting probability, 0–1.
    pub probability: f64,
}

impl Evaluator {
    /// Creates an evaluator with the given coefficients.
    pub fn new(embedder: Arc<dyn Embedder>, coefficients: Coefficients) -> Self {
        Self {
            embedder,
            coefficients: Watched::fixed(coefficients),
        }
    }

    /// Creates an evaluator with the coefficients file of `options`, or the built-in one for the embedder.
    ///
    /// An embedder without a built-in file is evaluated by words alone. A file is reloaded when it changes.
    ///
    /// # Errors
    /// [`EvaluateError::Read`] or [`EvaluateError::Coefficients`] when the file cannot be used.
    pub fn load(embedder: Arc<dyn Embedder>, options: &EvaluatorOptions) -> Result<Self, EvaluateError> {
        let coefficients = match &options.evaluator_coefficients {
            Some(path) => Watched::read(CoefficientsFile(path.clone()))?,
            None => Watched::fixed(Coefficients::builtin(embedder.id())?),
        };
        tracing::debug!(
            embedder = embedder.id(),
            coefficients = coefficients.current().name(),
            "evaluator ready"
        );
        Ok(Self { embedder, coefficients })
    }

    /// The current coefficients. Those from a file may change at any time.
    pub fn coefficients(&self) -> Arc<Coefficients> {
        self.coefficients.current()
    }

    /// The current decision thresholds.
    pub fn thresholds(&self) -> Thresholds {
        *self.coefficients().thresholds()
    }

    /// The probability that each passage is relevant to the question, or to one of the [parts](emend_text::parts) of it, 0–1,
    /// in order. A passage with several sections has the probability of its best one; an empty passage has 0.
    ///
    /// # Errors
    /// [`EvaluateError::Embed`] when the texts could not be embedded.
    pub async fn relevance(&self, question: &str, passages: &[PassageText<'_>]) -> Result<Vec<f64>, EvaluateError> {
        let mut relevance = vec![0.0_f64; passages.len()];
        let sections = text_pairs::sections(passages).await?;
        let mut questions = text_pairs::parts(question).await?;
        if questions.len() > 1 {
            questions.push(text_pairs::question(question).await?);
        }
        for asked in questions {
            let pairs = self.pairs(Task::Relevance, &asked, &sections, false).await?;
            let coefficients = self.coefficients();
            let judged = Self::judged(pairs, move |pair| {
                let view = &pair.section.view;
                let features = features::relevance(&asked, view, pair.cosines.as_ref());
                let probability = coefficients.probability(Task::Relevance, pair.group, &features);
                (pair.section.passage, named::less_likely(probability, view.unnamed))
            });
            for (passage, own) in judged.await? {
                if let Some(best) = relevance.get_mut(passage) {
                    *best = best.max(own);
                }
            }
        }
        Ok(relevance)
    }

    /// How well an answer addresses the question, regardless of whether it is true.
    ///
    /// The probability of an answer that consists of sentences of `passages` is that of the best of them to answer, which
    /// depends on what stands around it; of a question of several [parts](emend_text::parts), the part that is answered worst.
    /// It is useful if it also is by itself. Any other answer is judged by itself alone.
    ///
    /// # Errors
    /// [`EvaluateError::Embed`] when the texts could not be embedded.
    pub async fn usefulness(
        &self,
        question: &str,
        answer: &str,
        passages: &[PassageText<'_>],
    ) -> Result<Usefulness, EvaluateError> {
        if text::is_abstention(answer) {
            return Ok(Usefulness::new(0.0, 1.0));
        }
        let bytes = answer.len();
        let quoted = match passages {
            [] => None,
            passages => {
                let (scores, answer) = (self.sentences_by_part(question, passages).await?, answer.to_owned());
                let of_parts = move || {
                    let of_parts = scores.iter().map(|scores| quotation::probability(&answer, scores));
                    of_parts.reduce(|a, b| a.zip(b).map(|(a, b)| a.min(b))).flatten()
                };
                Turns::shared().piece(bytes, of_parts).await?
            }
        };
        let thresholds = self.thresholds();
        let explanation = self.usefulness_explained(question, answer).await?;
        let alone = Usefulness::new(explanation.probability, thresholds.useful);
        Ok(match quoted {
            Some(probability) => {
                let quoted = Usefulness::new(probability, thresholds.quote);
                Usefulness {
                    useful: quoted.useful && alone.useful,
                    ..quoted
                }
            }
            None => alone,
        })
    }

    async fn usefulness_explained(&self, question: &str, answer: &str) -> Result<Explanation, EvaluateError> {
        let asked = text_pairs::question(question).await?;
        let sections = text_pairs::whole(answer.into()).await?;
        let task = sections
            .first()
            .map_or(Task::Usefulness, |section| usefulness_task(&asked, &section.view));
        let pairs = self.pairs(task, &asked, &sections, false).await?;
        let coefficients = self.coefficients();
        let explained = Self::judged(pairs, move |pair| {
            let features = features::usefulness(&asked, &pair.section.view, pair.cosines.as_ref());
            explained(&coefficients, task, pair.group, features)
        });
        explained.await?.pop().ok_or(EvaluateError::Stopped)
    }

    /// Returns the features and probability behind a judgement, for inspection and for fitting. There is one
    /// explanation, or one per sentence for [`Pair::Answer`].
    ///
    /// # Errors
    /// [`EvaluateError::Embed`] when the texts could not be embedded.
    pub async fn explain(&self, pair: Pair<'_>) -> Result<Vec<Explanation>, EvaluateError> {
        let coefficients = self.coefficients();
        let found = self.features_of(pair).await?.into_iter();
        Ok(found
            .map(|(task, group, features)| explained(&coefficients, task, group, features))
            .collect())
    }

    /// Computes all features of a pair, or of its best section, whether or not a model uses them.
    async fn features_of(&self, pair: Pair<'_>) -> Result<Vec<(Task, Group, Features)>, EvaluateError> {
        let (task, first, second, question) = match pair {
            Pair::Relevance { question, passage } => (Task::Relevance, question, passage, None),
            Pair::Answer { question, passage } => (Task::Answer, question, passage, None),
            Pair::Usefulness { question, answer } => (Task::Usefulness, question, answer.into(), None),
            Pair::Groundedness {
                question,
                claim,
                evidence,
            } => (Task::Groundedness, claim, evidence.into(), Some(question)),
        };
        let first = text_pairs::question(first).await?;
        let question = match question {
            Some(question) if !question.trim().is_empty() => Some(text_pairs::question(question).await?),
            _ => None,
        };
        let judges_whole = task == Task::Usefulness;
        let mut sections = if judges_whole {
            Vec::new()
        } else {
            text_pairs::sections(&[second]).await?
        };
        if sections.is_empty() {
            sections = text_pairs::whole(second).await?;
        }
        let task = match (task, sections.first()) {
            (Task::Groundedness, _) => groundedness_task(first.view(), question.as_deref()),
            (Task::Usefulness, Some(answer)) => usefulness_task(&first, &answer.view),
            _ => task,
        };
        let pairs = self.pairs(task, &first, &sections, true).await?;
        let all = Self::judged(pairs, move |pair| {
            let (view, cosines) = (&*pair.section.view, pair.cosines.as_ref());
            let found = match task {
                Task::Relevance => vec![features::relevance(&first, view, cosines)],
                Task::Answer => features::answer_sentences(&first, view, cosines),
                Task::Usefulness | Task::UsefulFragment => vec![features::usefulness(&first, view, cosines)],
                Task::Groundedness | Task::GroundedFragment => {
                    vec![features::groundedness(first.view(), view, cosines, question.as_deref())]
                }
            };
            let group = pair.group;
            found
                .into_iter()
                .map(move |features| (task, group, features))
                .collect::<Vec<_>>()
        });
        let all = all.await?.into_iter().flatten();
        if task == Task::Answer {
            return Ok(all.collect());
        }
        let coefficients = self.coefficients();
        let probability =
            |(task, group, features): &(Task, Group, Features)| coefficients.probability(*task, *group, features);
        let best = all.max_by(|a, b| probability(a).total_cmp(&probability(b)));
        Ok(best.into_iter().collect())
    }
}

/// Whether a question asks how something is done.
#[must_use]
pub fn asks_how(question: &str) -> bool {
    Question::new(question).asks_how()
}

/// A section of a passage, as it is read to find an answer in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerSection {
    /// The heading that its sentences are embedded behind, or else the title, with a colon.
    pub heading: Option<String>,
    /// What each sentence says, with its byte range in the passage; without headings.
    pub sentences: Vec<(Range<usize>, String)>,
}

/// The sections of a passage, as they are compared with a question by an embedder that
/// [adapts to answers](emend_models::embed::Embedder::adapts_to_answers).
#[must_use]
pub fn answer_sections(passage: PassageText<'_>) -> Vec<AnswerSection> {
    answers::sections(passage)
}

/// The task for an answer. An answer of a few words has a model of its own, in which its kind and unit count rather
/// than the words of the question.
fn usefulness_task(question: &Question, answer: &View) -> Task {
    if features::is_bare(question, answer) {
        Task::UsefulFragment
    } else {
        Task::Usefulness
    }
}

fn explained(coefficients: &Coefficients, task: Task, group: Group, features: Features) -> Explanation {
    let probability = coefficients.probability(task, group, &features);
    Explanation {
        task: task.name(),
        group: group.name(),
        features: features.into_pairs(),
        probability,
    }
}

#[cfg(test)]
mod tests;

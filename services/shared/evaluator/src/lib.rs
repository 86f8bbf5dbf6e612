//! The in-process evaluator. It judges whether a passage is relevant, a sentence is grounded, and an answer is useful.
//!
//! It uses logistic regressions over lexical features and an embedder's cosine similarities, fitted to labelled pairs
//! by a [`Calibrator`]. It does no reasoning and no arithmetic: it detects that a date is missing, but not that a date
//! is off by a year.

mod calibrate;
mod coefficients;
mod error;
mod features;
mod fit;
pub mod metrics;
mod pair;
mod quotation;
mod text_pairs;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

pub use calibrate::{Calibrated, Calibration, Calibrator, Observed, Targets};
pub use coefficients::{Coefficients, Thresholds};
use coefficients::{CoefficientsFile, Task};
use emend_core::Watched;
use emend_models::embed::Embedder;
pub use emend_models::verdict::Support;
use emend_text as text;
pub use error::EvaluateError;
use features::{Features, Group, Question, View};
pub use pair::{Pair, PassageText};
use text_pairs::TextPair;

/// Minimum groundedness probability of a claim that the evidence contains verbatim.
const QUOTED_PROBABILITY: f64 = 0.99;

/// Command-line options of the evaluator.
#[derive(Args, Clone, Debug, Default)]
pub struct EvaluatorOptions {
    /// A file of coefficients and thresholds in place of the built-in one of the embedder.
    #[arg(long, env = "EMEND_EVALUATOR_COEFFICIENTS", value_name = "FILE")]
    pub evaluator_coefficients: Option<PathBuf>,
}

/// Evaluates pairs of texts. Cheap to clone.
#[derive(Clone)]
pub struct Evaluator {
    embedder: Arc<dyn Embedder>,
    coefficients: Arc<Watched<CoefficientsFile>>,
}

/// The groundedness of a sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Groundedness {
    /// The probability that the evidence supports the sentence, 0–1.
    pub probability: f64,
    /// The support level, from the probability and the thresholds.
    pub level: Support,
    /// The index of the evidence that supports the sentence best; `None` without evidence.
    pub passage: Option<usize>,
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

/// The score of one sentence of a passage as the answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct SentenceScore {
    /// The index of the passage.
    pub passage: usize,
    /// The byte range of the sentence in the passage.
    pub range: Range<usize>,
    /// What it says: its text, or for a row of a table its values behind the names of their columns.
    pub text: String,
    /// The probability that the sentence answers the question, 0–1.
    pub probability: f64,
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

/// Minimum answer probability of a sentence that restates the whole question, even if its cosine similarity is low. In
/// SQuAD 2.0, whose unanswerable questions are written to look answerable, three of four such sentences hold the
/// answer.
const RESTATEMENT_PROBABILITY: f64 = 0.5;

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

    /// The probability that each passage is relevant to the question, 0–1, in order. A passage with several sections
    /// has the probability of its best one; an empty passage has 0.
    ///
    /// # Errors
    /// [`EvaluateError::Embed`] when the texts could not be embedded.
    pub async fn relevance(&self, question: &str, passages: &[PassageText<'_>]) -> Result<Vec<f64>, EvaluateError> {
        let sections = text_pairs::sections(passages);
        let texts = sections.iter().map(|section| section.titled);
        let (asked, pairs) = self.pairs(Task::Relevance, Question::new(question), texts).await?;
        let places: Vec<usize> = sections.iter().map(|section| section.passage).collect();
        let mut relevance = vec![0.0_f64; passages.len()];
        let coefficients = self.coefficients();
        compute(move || {
            for (pair, place) in pairs.iter().zip(places) {
                if pair.view.text.trim().is_empty() {
                    continue;
                }
                let features = features::relevance(&asked, &pair.view, pair.cosines.as_ref());
                let own = coefficients.probability(Task::Relevance, pair.group, &features);
                if let Some(best) = relevance.get_mut(place) {
                    *best = best.max(own);
                }
            }
            relevance
        })
        .await
    }

    /// Scores every sentence of the passages by the probability that it answers the question, best first. Headings and
    /// questions introduce an answer without stating it, so they have 0.
    ///
    /// # Errors
    /// [`EvaluateError::Embed`] when the texts could not be embedded.
    pub async fn best_sentences(
        &self,
        question: &str,
        passages: &[PassageText<'_>],
    ) -> Result<Vec<SentenceScore>, EvaluateError> {
        let sections = text_pairs::sections(passages);
        let texts = sections.iter().map(|section| section.titled);
        let (asked, pairs) = self.pairs(Task::Answer, Question::new(question), texts).await?;
        let places: Vec<(usize, usize)> = sections
            .iter()
            .map(|section| (section.passage, section.start))
            .collect();
        let coefficients = self.coefficients();
        compute(move || {
            let mut scores: Vec<SentenceScore> = Vec::new();
            for (pair, (passage, start)) in pairs.iter().zip(places) {
                if pair.view.text.trim().is_empty() {
                    continue;
                }
                let sentences = features::answer_sentences(&asked, &pair.view, pair.cosines.as_ref());
                for (index, (features, range)) in sentences.iter().zip(&pair.view.sentences).enumerate() {
                    let mut probability = coefficients.probability(Task::Answer, pair.group, features);
                    if features::is_heading_or_question(features) {
                        probability = 0.0;
                    } else if features::restates_question(&asked, features) {
                        probability = probability.max(RESTATEMENT_PROBABILITY);
                    }
                    scores.push(SentenceScore {
                        passage,
                        range: start + range.start..start + range.end,
                        text: pair.view.sentence(index).to_owned(),
                        probability,
                    });
                }
            }
            scores.sort_by(|a, b| b.probability.total_cmp(&a.probability));
            scores
        })
        .await
    }

    /// How well the evidence supports a sentence of an answer to `question`, which may be empty.
    ///
    /// A sentence that the evidence contains verbatim is supported. Without evidence no sentence is.
    ///
    /// # Errors
    /// [`EvaluateError::Embed`] when the texts could not be embedded.
    pub async fn groundedness(
        &self,
        question: &str,
        sentence: &str,
        evidence: &[&str],
    ) -> Result<Groundedness, EvaluateError> {
        let (claim, question) = (Question::new(sentence), optional_question(question));
        let task = groundedness_task(claim.view(), question.as_ref());
        let evidence: Vec<PassageText<'_>> = evidence.iter().copied().map(PassageText::from).collect();
        let sections = text_pairs::sections(&evidence);
        let texts = sections.iter().map(|section| section.titled);
        let (claim, pairs) = self.pairs(task, claim, texts).await?;
        let places: Vec<usize> = sections.iter().map(|section| section.passage).collect();
        let coefficients = self.coefficients();
        compute(move || {
            let claim = claim.view();
            let judge = |pair: &TextPair| {
                let features = features::groundedness(claim, &pair.view, pair.cosines.as_ref(), question.as_ref());
                let probability = coefficients.probability(task, pair.group, &features);
                let quoted = match task {
                    // A few words may stand anywhere.
                    Task::GroundedFragment => features::is_whole_sentence(claim, &pair.view),
                    _ => features::is_quoted(claim, &pair.view),
                };
                if quoted {
                    probability.max(QUOTED_PROBABILITY)
                } else {
                    probability
                }
            };
            let judged = places.into_iter().zip(pairs.iter().map(judge));
            let best = judged.max_by(|(_, a), (_, b)| a.total_cmp(b));
            let probability = best.map_or(0.0, |(_, probability)| probability);
            let thresholds = coefficients.thresholds();
            let level = if probability >= thresholds.fully {
                Support::Full
            } else if probability >= thresholds.partially {
                Support::Partial
            } else {
                Support::No
            };
            Groundedness {
                probability,
                level,
                passage: best.map(|(place, _)| place),
            }
        })
        .await
    }

    /// How well an answer addresses the question, regardless of whether it is true.
    ///
    /// The probability of an answer that consists of sentences of `passages` is that of the best of them to answer, which
    /// depends on what stands around it; it is useful if it also is by itself. Any other answer is judged by itself alone.
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
        let quoted = match passages {
            [] => None,
            passages => quotation::probability(answer, &self.best_sentences(question, passages).await?),
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
        let asked = Question::new(question);
        let task = usefulness_task(&asked, answer);
        let (asked, pairs) = self.pairs(task, asked, [answer.into()]).await?;
        let coefficients = self.coefficients();
        let explain = move || {
            let pair = pairs.first()?;
            let features = features::usefulness(&asked, &pair.view, pair.cosines.as_ref());
            Some(explained(&coefficients, task, pair.group, features))
        };
        compute(explain).await?.ok_or(EvaluateError::Stopped)
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
            } => (Task::Groundedness, claim, evidence.into(), optional_question(question)),
        };
        let first = Question::new(first);
        let task = match task {
            Task::Groundedness => groundedness_task(first.view(), question.as_ref()),
            Task::Usefulness => usefulness_task(&first, second.text),
            _ => task,
        };
        let sections: Vec<PassageText<'_>> = match task {
            Task::Usefulness | Task::UsefulFragment => Vec::new(),
            _ => text_pairs::sections(&[second])
                .iter()
                .map(|section| section.titled)
                .collect(),
        };
        let texts = if sections.is_empty() { vec![second] } else { sections };
        let (first, pairs) = self.embedded_pairs(task, first, texts).await?;
        let coefficients = self.coefficients();
        compute(move || {
            let seen = |pair: &TextPair| {
                let cosines = pair.cosines.as_ref();
                let found = match task {
                    Task::Relevance => vec![features::relevance(&first, &pair.view, cosines)],
                    Task::Answer => features::answer_sentences(&first, &pair.view, cosines),
                    Task::Usefulness | Task::UsefulFragment => vec![features::usefulness(&first, &pair.view, cosines)],
                    Task::Groundedness | Task::GroundedFragment => {
                        vec![features::groundedness(
                            first.view(),
                            &pair.view,
                            cosines,
                            question.as_ref(),
                        )]
                    }
                };
                let group = pair.group;
                found.into_iter().map(move |features| (task, group, features))
            };
            let all = pairs.iter().flat_map(seen);
            if task == Task::Answer {
                return all.collect();
            }
            let probability =
                |(task, group, features): &(Task, Group, Features)| coefficients.probability(*task, *group, features);
            let best = all.max_by(|a, b| probability(a).total_cmp(&probability(b)));
            best.into_iter().collect()
        })
        .await
    }
}

fn optional_question(question: &str) -> Option<Question> {
    (!question.trim().is_empty()).then(|| Question::new(question))
}

/// The task for an answer. An answer of a few words has a model of its own, in which its kind and unit count rather
/// than the words of the question.
fn usefulness_task(question: &Question, answer: &str) -> Task {
    if features::is_bare(question, &View::new(answer)) {
        Task::UsefulFragment
    } else {
        Task::Usefulness
    }
}

/// The task for a claim. A claim of a few words is judged with its question; without a question it is judged as a
/// sentence.
fn groundedness_task(claim: &View, question: Option<&Question>) -> Task {
    if question.is_some() && features::is_fragment(claim) {
        Task::GroundedFragment
    } else {
        Task::Groundedness
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

/// Runs CPU-bound work on the blocking thread pool, within the caller's span.
async fn compute<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, EvaluateError> {
    let span = tracing::Span::current();
    tokio::task::spawn_blocking(move || span.in_scope(work))
        .await
        .map_err(|_| EvaluateError::Stopped)
}

#[cfg(test)]
mod tests;

//! The evaluator that runs in this process: is a passage relevant, is a sentence grounded, is an answer useful?
//!
//! Logistic regressions over features of the words and of an embedder's cosines, fitted on labelled pairs. It knows no
//! logic and no arithmetic: it sees that a date is missing, not that a date is wrong by a year.
//! A [`Calibrator`] fits them.

mod calibrate;
mod coefficients;
mod error;
mod features;
mod fit;
pub mod metrics;
mod pieces;

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
use pieces::Pieces;

/// What is said in the very words of the evidence is supported, whatever a model makes of it.
const QUOTED: f64 = 0.99;

/// Which coefficients to judge with.
#[derive(Args, Clone, Debug, Default)]
pub struct EvaluatorOptions {
    /// A file of coefficients and thresholds in place of the built-in one of the embedder.
    #[arg(long, env = "EMEND_EVALUATOR_COEFFICIENTS", value_name = "FILE")]
    pub evaluator_coefficients: Option<PathBuf>,
}

/// Judges pairs of texts. Cheap to clone.
#[derive(Clone)]
pub struct Evaluator {
    embedder: Arc<dyn Embedder>,
    coefficients: Arc<Watched<CoefficientsFile>>,
}

/// How far evidence supports a sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Groundedness {
    /// The probability that the evidence supports the sentence, 0–1.
    pub probability: f64,
    /// The probability as a degree, by the thresholds.
    pub level: Support,
    /// The place of the evidence that supports it best; none without evidence.
    pub passage: Option<usize>,
}

/// How useful an answer is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usefulness {
    /// The probability that the answer addresses the question, 0–1; 0 for an answer that abstains.
    pub probability: f64,
    /// The probability in five steps, 1–5.
    pub utility: u8,
    /// Whether it reaches the threshold.
    pub useful: bool,
}

/// How well a sentence of a passage answers a question.
#[derive(Clone, Debug, PartialEq)]
pub struct SentenceScore {
    /// The passage's place.
    pub passage: usize,
    /// The sentence's bytes in the passage.
    pub range: Range<usize>,
    /// The probability that the sentence holds the answer, 0–1.
    pub probability: f64,
}

/// What a judgement was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The model's task: `relevance`, `answer`, `groundedness`, `groundedness_fragment`, `usefulness` or
    /// `usefulness_fragment`.
    pub task: &'static str,
    /// `alphabet`, `cjk` or `cross`.
    pub group: &'static str,
    /// The features by name; those of the embedder start with `cosine`.
    pub features: Vec<(&'static str, f64)>,
    /// The judgement, 0–1.
    pub probability: f64,
}

/// A pair of texts to explain.
#[derive(Clone, Copy, Debug)]
pub enum Pair<'a> {
    /// Is the passage relevant to the question?
    Relevance {
        /// What is asked.
        question: &'a str,
        /// What was found.
        passage: &'a str,
    },
    /// Does each sentence of the passage answer the question?
    Answer {
        /// What is asked.
        question: &'a str,
        /// What was found.
        passage: &'a str,
    },
    /// Does the evidence support the claim?
    Groundedness {
        /// What is asked; empty when unknown.
        question: &'a str,
        /// What is claimed.
        claim: &'a str,
        /// What is known.
        evidence: &'a str,
    },
    /// Does the answer address the question?
    Usefulness {
        /// What is asked.
        question: &'a str,
        /// What was answered.
        answer: &'a str,
    },
}

/// The least probability of a sentence that says all that the question does, however far apart an embedder finds them: of
/// those in SQuAD 2.0, whose unanswerable questions are made to look answerable, three in four hold the answer.
const SAYS_IT_ALL: f64 = 0.5;

impl Evaluator {
    /// An evaluator with coefficients at hand.
    pub fn new(embedder: Arc<dyn Embedder>, coefficients: Coefficients) -> Self {
        Self {
            embedder,
            coefficients: Watched::fixed(coefficients),
        }
    }

    /// An evaluator with the options' file, or the built-in one for the embedder. An embedder without one is judged by
    /// words alone. A file is read again when it changes.
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

    /// The coefficients in force: those of a file may be others a second later.
    pub fn coefficients(&self) -> Arc<Coefficients> {
        self.coefficients.current()
    }

    /// Where probabilities become decisions.
    pub fn thresholds(&self) -> Thresholds {
        *self.coefficients().thresholds()
    }

    /// For each passage, in order, the probability that it is relevant to the question, 0–1: that of its best section where
    /// it has several. An empty passage has 0.
    ///
    /// # Errors
    /// [`EvaluateError::Embed`] when the texts could not be embedded.
    pub async fn relevance(&self, question: &str, passages: &[&str]) -> Result<Vec<f64>, EvaluateError> {
        let sections = pieces::sections(passages);
        let texts = sections.iter().map(|section| section.text);
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

    /// Every sentence of the passages with the probability that it answers the question, best first. Headings and
    /// questions, which say what there is to tell and do not tell it, are the last, at 0.
    ///
    /// # Errors
    /// [`EvaluateError::Embed`] when the texts could not be embedded.
    pub async fn best_sentences(&self, question: &str, passages: &[&str]) -> Result<Vec<SentenceScore>, EvaluateError> {
        let sections = pieces::sections(passages);
        let texts = sections.iter().map(|section| section.text);
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
                for (features, range) in sentences.iter().zip(&pair.view.sentences) {
                    let mut probability = coefficients.probability(Task::Answer, pair.group, features);
                    if features::tells_nothing(features) {
                        probability = 0.0;
                    } else if features::says_it_all(&asked, features) {
                        probability = probability.max(SAYS_IT_ALL);
                    }
                    scores.push(SentenceScore {
                        passage,
                        range: start + range.start..start + range.end,
                        probability,
                    });
                }
            }
            scores.sort_by(|a, b| b.probability.total_cmp(&a.probability));
            scores
        })
        .await
    }

    /// How far the evidence supports a sentence of an answer to `question`, which may be empty. A sentence that the
    /// evidence says word for word is supported; without evidence none is.
    ///
    /// # Errors
    /// [`EvaluateError::Embed`] when the texts could not be embedded.
    pub async fn groundedness(
        &self,
        question: &str,
        sentence: &str,
        evidence: &[&str],
    ) -> Result<Groundedness, EvaluateError> {
        let (claim, question) = (Question::new(sentence), asked(question));
        let task = groundedness_task(claim.view(), question.as_ref());
        let sections = pieces::sections(evidence);
        let texts = sections.iter().map(|section| section.text);
        let (claim, pairs) = self.pairs(task, claim, texts).await?;
        let places: Vec<usize> = sections.iter().map(|section| section.passage).collect();
        let coefficients = self.coefficients();
        compute(move || {
            let claim = claim.view();
            let judge = |pair: &Pieces| {
                let features = features::groundedness(claim, &pair.view, pair.cosines.as_ref(), question.as_ref());
                let probability = coefficients.probability(task, pair.group, &features);
                let quoted = task == Task::Groundedness && features::is_quoted(claim, &pair.view);
                if quoted { probability.max(QUOTED) } else { probability }
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

    /// How well an answer addresses the question, whether it is true or not.
    ///
    /// # Errors
    /// [`EvaluateError::Embed`] when the texts could not be embedded.
    pub async fn usefulness(&self, question: &str, answer: &str) -> Result<Usefulness, EvaluateError> {
        if text::is_abstention(answer) {
            return Ok(Usefulness {
                probability: 0.0,
                utility: 1,
                useful: false,
            });
        }
        let explanation = self.usefulness_explained(question, answer).await?;
        let probability = explanation.probability;
        let utility = 1 + (probability * 5.0).floor().clamp(0.0, 4.0) as u8;
        Ok(Usefulness {
            probability,
            utility,
            useful: probability >= self.thresholds().useful,
        })
    }

    async fn usefulness_explained(&self, question: &str, answer: &str) -> Result<Explanation, EvaluateError> {
        let asked = Question::new(question);
        let task = usefulness_task(&asked, answer);
        let (asked, pairs) = self.pairs(task, asked, [answer]).await?;
        let coefficients = self.coefficients();
        let explain = move || {
            let pair = pairs.first()?;
            let features = features::usefulness(&asked, &pair.view, pair.cosines.as_ref());
            Some(explained(&coefficients, task, pair.group, features))
        };
        compute(explain).await?.ok_or(EvaluateError::Stopped)
    }

    /// What a judgement is made from, for a person who wonders and for fitting: one explanation, or one a sentence for
    /// [`Pair::Answer`].
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

    /// All that can be seen of a pair, or of the section of it that is judged best, whether a model asks for it or not.
    async fn features_of(&self, pair: Pair<'_>) -> Result<Vec<(Task, Group, Features)>, EvaluateError> {
        let (task, first, second, question) = match pair {
            Pair::Relevance { question, passage } => (Task::Relevance, question, passage, None),
            Pair::Answer { question, passage } => (Task::Answer, question, passage, None),
            Pair::Usefulness { question, answer } => (Task::Usefulness, question, answer, None),
            Pair::Groundedness {
                question,
                claim,
                evidence,
            } => (Task::Groundedness, claim, evidence, asked(question)),
        };
        let first = Question::new(first);
        let task = match task {
            Task::Groundedness => groundedness_task(first.view(), question.as_ref()),
            Task::Usefulness => usefulness_task(&first, second),
            _ => task,
        };
        let sections: Vec<&str> = match task {
            Task::Usefulness | Task::UsefulFragment => Vec::new(),
            _ => pieces::sections(&[second]).iter().map(|section| section.text).collect(),
        };
        let texts = if sections.is_empty() { vec![second] } else { sections };
        let (first, pairs) = self.embedded_pairs(task, first, texts).await?;
        let coefficients = self.coefficients();
        compute(move || {
            let seen = |pair: &Pieces| {
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

fn asked(question: &str) -> Option<Question> {
    (!question.trim().is_empty()).then(|| Question::new(question))
}

/// An answer in a few words says little besides what it is: its kind and unit count, not the words of the question.
fn usefulness_task(question: &Question, answer: &str) -> Task {
    if features::is_bare(question, &View::new(answer)) {
        Task::UsefulFragment
    } else {
        Task::Usefulness
    }
}

/// An answer in a few words is judged by what was asked; without a question it is a sentence like another.
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

/// Runs arithmetic where it blocks nobody, inside of the caller's span.
async fn compute<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, EvaluateError> {
    let span = tracing::Span::current();
    tokio::task::spawn_blocking(move || span.in_scope(work))
        .await
        .map_err(|_| EvaluateError::Stopped)
}

#[cfg(test)]
mod tests;

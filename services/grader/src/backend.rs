//! The backends that give grades.

mod cascade;
mod embedded;
mod llm;

use std::borrow::Cow;
use std::sync::Arc;

use emend_core::{Deadline, Reserve, Scope};
use emend_evaluator::Evaluator;
use emend_models::embed;
use emend_models::progress::Progress;
use emend_models::prompt::Prompts;
use emend_models::verdict::Support;
use emend_proto::v1::{Passage, Usage};
use futures::future::BoxFuture;

use crate::config::{BackendKind, Options};
use crate::error::LoadError;

pub use cascade::CascadeBackend;
pub use embedded::EmbeddedBackend;
pub use llm::{LlmBackend, LlmSettings};

/// Gives grades. A grade that fails is [`Grade::Ungraded`] and does not affect the others (R4).
///
/// Dropping a future stops its work (R12). A backend stops a little before `scope`'s deadline and returns what it has
/// (R11).
pub trait Backend: Send + Sync {
    /// The thresholds that apply if a request sets none.
    fn thresholds(&self) -> Thresholds;

    /// The probability of each passage being relevant to the question: as many grades, in the same order.
    fn relevance<'a>(
        &'a self,
        question: &'a str,
        passages: &'a [Passage],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Vec<Grade<f64>>>>;

    /// How far the passages support each sentence: as many grades, in the same order.
    fn groundedness<'a>(
        &'a self,
        question: &'a str,
        sentences: &'a [&'a str],
        passages: &'a [Passage],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Vec<Grade<Groundedness>>>>;

    /// How well the answer addresses the question. `passages` are those that it was
    /// written from, best first.
    fn usefulness<'a>(
        &'a self,
        question: &'a str,
        answer: &'a str,
        passages: &'a [Passage],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Grade<Usefulness>>>;

    /// The probability of each strip helping to answer the question: as many grades as strips of all passages together,
    /// in the same order.
    fn strips<'a>(
        &'a self,
        question: &'a str,
        passages: &'a [Strips<'a>],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Vec<Grade<f64>>>>;

    /// Whether the next segment of the answer needs evidence that the passages do not hold. The
    /// answer is empty if it has not begun. There may be no passages; each has text.
    fn retrieval<'a>(
        &'a self,
        question: &'a str,
        answer_so_far: &'a str,
        passages: &'a [Passage],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Grade<Retrieval>>>;
}

/// The strips of one passage.
#[derive(Clone, Debug, PartialEq)]
pub struct Strips<'a> {
    /// The passage's [`title_line`](Passage::title_line); may be empty.
    pub title: &'a str,
    /// What each strip says, in the order of the text; none is blank, and there is at least one.
    pub texts: Vec<&'a str>,
}

/// A grade, or why there is none. A missing grade is not a bad grade (R4).
#[derive(Clone, Debug, PartialEq)]
pub enum Grade<T> {
    /// The grade.
    Graded(T),
    /// There is none.
    Ungraded(Ungraded),
}

impl<T> Grade<T> {
    /// The grade, if there is one.
    pub fn graded(&self) -> Option<&T> {
        match self {
            Self::Graded(grade) => Some(grade),
            Self::Ungraded(_) => None,
        }
    }

    /// Whether there is no grade because time ran out.
    pub fn is_out_of_time(&self) -> bool {
        matches!(self, Self::Ungraded(Ungraded::OutOfTime))
    }
}

impl<T> From<Result<T, Ungraded>> for Grade<T> {
    fn from(result: Result<T, Ungraded>) -> Self {
        match result {
            Ok(grade) => Self::Graded(grade),
            Err(reason) => Self::Ungraded(reason),
        }
    }
}

/// Why there is no grade.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ungraded {
    /// Time ran out first.
    #[error("time ran out before this was graded")]
    OutOfTime,
    /// There is nothing to grade.
    #[error("the passage has no text")]
    NoText,
    /// The model's reply is not a verdict.
    #[error("the reply `{reply}` is no verdict")]
    NoVerdict {
        /// The beginning of what the model said.
        reply: String,
    },
    /// The backend failed; its message.
    #[error("{0}")]
    Failed(String),
}

/// Grades and what they cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Graded<T> {
    /// The grades.
    pub grades: T,
    /// What they cost.
    pub usage: Usage,
}

impl<T> Graded<T> {
    /// Grades that cost no model call.
    pub fn free(grades: T) -> Self {
        Self {
            grades,
            usage: Usage::default(),
        }
    }
}

/// Probabilities, 0–1, that turn scores into verdicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Score from which a passage is relevant.
    pub relevance: f64,
    /// Score from which one passage makes the evaluation correct.
    pub upper: f64,
    /// Score below which all passages make the evaluation incorrect; at most `upper`.
    pub lower: f64,
    /// Score from which a strip is kept.
    pub strip: f64,
}

/// How far evidence supports a sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Groundedness {
    /// Probability of being supported, 0–1; partial support counts for half.
    pub score: f64,
    /// Probability of being supported fully, 0–1.
    pub fully: f64,
    /// Probability of being supported in part and not fully, 0–1; with `fully` at most 1. Always 0
    /// for a backend that has only one probability.
    pub partially: f64,
    /// The verdict.
    pub level: Support,
}

/// How well an answer addresses a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usefulness {
    /// Utility, 1–5.
    pub utility: u8,
    /// Expected utility, 1–5: the mean of the five utilities, weighted by their probabilities.
    pub expected: f64,
    /// Probability of being useful, 0–1.
    pub score: f64,
    /// The verdict.
    pub useful: bool,
}

/// Whether the next segment of an answer needs evidence. The probability that it needs none is `1 -
/// yes - continues`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retrieval {
    /// Probability that it needs new evidence, 0–1.
    pub yes: f64,
    /// Probability that the evidence held is enough, 0–1; with `yes` at most 1.
    pub continues: f64,
}

/// Loads the backend that the options select.
///
/// # Errors
/// [`LoadError`] when a model, coefficients or prompts cannot be loaded, or options contradict one
/// another.
pub async fn load(options: &Options) -> Result<Arc<dyn Backend>, LoadError> {
    options.chat.check()?;
    Ok(match options.backend {
        BackendKind::Embedded => Arc::new(embedded(options).await?),
        BackendKind::Llm => Arc::new(llm(options).await?),
        BackendKind::Cascade => {
            let first = Arc::new(embedded(options).await?);
            Arc::new(CascadeBackend::new(first, Arc::new(llm(options).await?)))
        }
    })
}

async fn embedded(options: &Options) -> Result<EmbeddedBackend, LoadError> {
    let embedder = embed::load(&options.embedder, Progress::none()).await?;
    Ok(EmbeddedBackend::new(Evaluator::load(embedder, &options.evaluator)?))
}

async fn llm(options: &Options) -> Result<LlmBackend, LoadError> {
    let settings = LlmSettings::from_options(&options.llm)?;
    let chat = options.chat.load(Progress::none()).await?.ok_or(LoadError::NoModel)?;
    tracing::info!(model = chat.model(), "grading with a language model");
    Ok(LlmBackend::new(chat, Prompts::load(&options.prompts)?, settings))
}

/// The [`title_line`](Passage::title_line) of each passage.
pub(crate) fn title_lines<'a>(passages: impl IntoIterator<Item = &'a Passage>) -> Vec<Cow<'a, str>> {
    passages.into_iter().map(Passage::title_line).collect()
}

fn add(usage: &mut Usage, cost: &Usage) {
    usage.model_calls += cost.model_calls;
    usage.input_tokens += cost.input_tokens;
    usage.output_tokens += cost.output_tokens;
}

/// The deadline of a backend, early enough that its partial grades arrive before the deadline of
/// the request (R11).
fn grading_deadline(scope: &Scope) -> Deadline {
    scope.deadline.keeping(Reserve::PARTIAL_RESULT)
}

//! Grades from the evaluator in this process.

use emend_chassis::{Scope, chain};
use emend_models::evaluate::{EvaluateError, Evaluator};
use emend_proto::v1::Passage;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Backend, Grade, Graded, Groundedness, Thresholds, Ungraded, Usefulness, grading_deadline};

/// Passages embedded between two looks at the clock: large enough to fill the threads of an embedder, small enough to
/// leave some grades when time is short.
const BATCH: usize = 4;

/// The backend `embedded`: calibrated probabilities from embedder and lexical features; no language model.
pub struct EmbeddedBackend {
    evaluator: Evaluator,
}

impl EmbeddedBackend {
    /// Grades with this evaluator and its thresholds.
    pub fn new(evaluator: Evaluator) -> Self {
        Self { evaluator }
    }

    async fn relevance_of(&self, question: &str, passages: &[Passage], scope: &Scope) -> Vec<Grade<f64>> {
        let until = grading_deadline(scope);
        let mut grades = Vec::with_capacity(passages.len());
        for batch in passages.chunks(BATCH) {
            let texts: Vec<&str> = batch
                .iter()
                .map(|p| p.text.as_str())
                .filter(|text| !text.trim().is_empty())
                .collect();
            let Ok(scores) = until.run(self.evaluator.relevance(question, &texts)).await else {
                break;
            };
            let mut scores = scores.map(Vec::into_iter).map_err(failed);
            grades.extend(batch.iter().map(|passage| match &mut scores {
                _ if passage.text.trim().is_empty() => Grade::Ungraded(Ungraded::NoText),
                Ok(scores) => scores.next().map_or_else(missing, Grade::Graded),
                Err(reason) => Grade::Ungraded(reason.clone()),
            }));
        }
        grades.resize(passages.len(), Grade::Ungraded(Ungraded::OutOfTime));
        grades
    }

    async fn groundedness_of(
        &self,
        question: &str,
        sentences: &[&str],
        passages: &[Passage],
        scope: &Scope,
    ) -> Vec<Grade<Groundedness>> {
        let until = grading_deadline(scope);
        let evidence: Vec<&str> = passages
            .iter()
            .map(|p| p.text.as_str())
            .filter(|text| !text.trim().is_empty())
            .collect();
        let mut grades = Vec::with_capacity(sentences.len());
        // One after another: the evidence is embedded for the first and remembered for the rest.
        for sentence in sentences {
            let Ok(result) = until
                .run(self.evaluator.groundedness(question, sentence, &evidence))
                .await
            else {
                break;
            };
            let result = result
                .map(|g| Groundedness {
                    score: g.probability,
                    level: g.level,
                })
                .map_err(failed);
            grades.push(result.into());
        }
        grades.resize(sentences.len(), Grade::Ungraded(Ungraded::OutOfTime));
        grades
    }

    async fn usefulness_of(&self, question: &str, answer: &str, scope: &Scope) -> Grade<Usefulness> {
        let Ok(result) = grading_deadline(scope)
            .run(self.evaluator.usefulness(question, answer))
            .await
        else {
            return Grade::Ungraded(Ungraded::OutOfTime);
        };
        result
            .map(|u| Usefulness {
                utility: u.utility,
                score: u.probability,
                useful: u.useful,
            })
            .map_err(failed)
            .into()
    }
}

impl Backend for EmbeddedBackend {
    fn thresholds(&self) -> Thresholds {
        let calibrated = self.evaluator.thresholds();
        Thresholds {
            relevance: calibrated.relevant,
            upper: calibrated.upper,
            lower: calibrated.lower,
        }
    }

    fn relevance<'a>(
        &'a self,
        question: &'a str,
        passages: &'a [Passage],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Vec<Grade<f64>>>> {
        self.relevance_of(question, passages, scope).map(Graded::free).boxed()
    }

    fn groundedness<'a>(
        &'a self,
        question: &'a str,
        sentences: &'a [&'a str],
        passages: &'a [Passage],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Vec<Grade<Groundedness>>>> {
        self.groundedness_of(question, sentences, passages, scope)
            .map(Graded::free)
            .boxed()
    }

    fn usefulness<'a>(
        &'a self,
        question: &'a str,
        answer: &'a str,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Grade<Usefulness>>> {
        self.usefulness_of(question, answer, scope).map(Graded::free).boxed()
    }
}

fn failed(error: EvaluateError) -> Ungraded {
    tracing::warn!(%error, "the evaluator failed");
    Ungraded::Failed(chain(&error))
}

fn missing<T>() -> Grade<T> {
    Grade::Ungraded(Ungraded::Failed("the evaluator returned too few scores".to_owned()))
}

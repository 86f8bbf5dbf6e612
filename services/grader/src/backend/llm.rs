//! Grades from a language model.

use std::sync::Arc;

use emend_chassis::{Deadline, Scope, chain};
use emend_models::chat::{Chat, ChatError, ChatReply};
use emend_models::prompt::{
    Evidence, GradeDocuments, GradeGroundedness, GradeUsefulness, PromptError, Prompts, Rendered,
};
use emend_models::verdict::{self, Support};
use emend_proto::v1::{Passage, Usage};
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use tokio::sync::Semaphore;

use super::{Backend, Grade, Graded, Groundedness, Thresholds, Ungraded, Usefulness, grading_deadline};
use crate::config::LlmOptions;
use crate::error::LoadError;

/// How the backend `llm` asks and judges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LlmSettings {
    /// Calls at once, over all requests; at least 1.
    pub concurrency: usize,
    /// Alternatives to ask log-probabilities for with each token, 0–20; 0 asks for none.
    pub top_logprobs: u8,
    /// The thresholds over scores.
    pub thresholds: Thresholds,
    /// Utility, 1–5, from which an answer is useful.
    pub useful_utility: u8,
}

impl LlmSettings {
    /// Reads the options.
    ///
    /// # Errors
    /// [`LoadError::Thresholds`] when the lower threshold is above the upper.
    pub fn from_options(options: &LlmOptions) -> Result<Self, LoadError> {
        let (lower, upper) = (options.llm_lower_threshold, options.llm_upper_threshold);
        if lower > upper {
            return Err(LoadError::Thresholds { lower, upper });
        }
        Ok(Self {
            concurrency: options.llm_concurrency.get(),
            top_logprobs: options.llm_top_logprobs,
            thresholds: Thresholds {
                relevance: options.llm_relevance_threshold,
                upper,
                lower,
            },
            useful_utility: options.llm_useful_utility,
        })
    }
}

/// The backend `llm`: one call a passage, a sentence or an answer, constrained to a verdict, as many at once as allowed.
pub struct LlmBackend {
    chat: Arc<dyn Chat>,
    prompts: Prompts,
    settings: LlmSettings,
    calls: Semaphore,
}

/// One call: the grade, and what it cost.
type Call<T> = (Result<T, Ungraded>, Usage);

impl LlmBackend {
    /// Grades with this model and these prompts.
    pub fn new(chat: Arc<dyn Chat>, prompts: Prompts, settings: LlmSettings) -> Self {
        let calls = Semaphore::new(settings.concurrency.clamp(1, Semaphore::MAX_PERMITS));
        Self {
            chat,
            prompts,
            settings,
            calls,
        }
    }

    /// Asks the model once it is this call's turn, and reads its reply.
    async fn ask<T>(
        &self,
        rendered: Result<Rendered, PromptError>,
        until: Deadline,
        read: impl FnOnce(&ChatReply) -> Option<T>,
    ) -> Call<T> {
        let mut request = match rendered {
            Ok(rendered) => rendered.request(),
            Err(error) => return (Err(failed("the prompt cannot be rendered", &error)), Usage::default()),
        };
        // A grade is to be the same each time it is asked for.
        request.temperature = Some(0.0);
        request.top_logprobs = self.settings.top_logprobs;
        request.deadline = Some(until.instant());
        let mut usage = Usage::default();
        let asked = until.run(async {
            // The semaphore is never closed.
            let _permit = self.calls.acquire().await.ok();
            usage.model_calls = 1;
            self.chat.complete(request).await
        });
        let grade = match asked.await {
            Ok(Ok(reply)) => {
                usage.input_tokens = reply.usage.input_tokens;
                usage.output_tokens = reply.usage.output_tokens;
                read(&reply).ok_or_else(|| Ungraded::NoVerdict {
                    reply: beginning(&reply.text),
                })
            }
            Ok(Err(ChatError::Timeout { .. })) if until.is_expired() => Err(Ungraded::OutOfTime),
            Ok(Err(error)) => Err(failed("the model gave no grade", &error)),
            Err(_) => Err(Ungraded::OutOfTime),
        };
        (grade, usage)
    }

    async fn relevance_of(&self, question: &str, passage: &Passage, until: Deadline) -> Call<f64> {
        if passage.text.trim().is_empty() {
            return (Err(Ungraded::NoText), Usage::default());
        }
        let rendered = self.prompts.render(&GradeDocuments {
            question,
            passage: evidence(passage),
        });
        self.ask(rendered, until, |reply| {
            let verdict = verdict::parse(&reply.text)?;
            Some(score(
                verdict::probability(&reply.logprobs),
                if verdict.is_yes() { 1.0 } else { 0.0 },
            ))
        })
        .await
    }

    async fn groundedness_of(&self, sentence: &str, passages: &[Evidence<'_>], until: Deadline) -> Call<Groundedness> {
        let rendered = self.prompts.render(&GradeGroundedness { sentence, passages });
        self.ask(rendered, until, |reply| {
            let level = verdict::support(&reply.text)?;
            let plain = match level {
                Support::Full => 1.0,
                Support::Partial => 0.5,
                Support::No => 0.0,
            };
            Some(Groundedness {
                score: score(verdict::support_score(&reply.logprobs), plain),
                level,
            })
        })
        .await
    }

    async fn usefulness_of(&self, question: &str, answer: &str, until: Deadline) -> Call<Usefulness> {
        let rendered = self.prompts.render(&GradeUsefulness { question, answer });
        self.ask(rendered, until, |reply| {
            let utility = verdict::utility(&reply.text)?;
            // Expected utility comes with the weights −1 to 1 of Self-RAG; a score is a probability.
            let expected = verdict::utility_score(&reply.logprobs).map(|weighted| (weighted + 1.0) / 2.0);
            Some(Usefulness {
                utility,
                score: score(expected, f64::from(utility.saturating_sub(1)) / 4.0),
                useful: utility >= self.settings.useful_utility,
            })
        })
        .await
    }
}

impl Backend for LlmBackend {
    fn thresholds(&self) -> Thresholds {
        self.settings.thresholds
    }

    fn relevance<'a>(
        &'a self,
        question: &'a str,
        passages: &'a [Passage],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Vec<Grade<f64>>>> {
        async move {
            let until = grading_deadline(scope);
            join_all(
                passages
                    .iter()
                    .map(|passage| self.relevance_of(question, passage, until)),
            )
            .map(sum)
            .await
        }
        .boxed()
    }

    fn groundedness<'a>(
        &'a self,
        _question: &'a str,
        sentences: &'a [&'a str],
        passages: &'a [Passage],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Vec<Grade<Groundedness>>>> {
        async move {
            let until = grading_deadline(scope);
            let passages: Vec<Evidence<'_>> = passages
                .iter()
                .filter(|p| !p.text.trim().is_empty())
                .map(evidence)
                .collect();
            join_all(
                sentences
                    .iter()
                    .map(|sentence| self.groundedness_of(sentence, &passages, until)),
            )
            .map(sum)
            .await
        }
        .boxed()
    }

    fn usefulness<'a>(
        &'a self,
        question: &'a str,
        answer: &'a str,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Grade<Usefulness>>> {
        async move {
            let (grade, usage) = self.usefulness_of(question, answer, grading_deadline(scope)).await;
            Graded {
                grades: grade.into(),
                usage,
            }
        }
        .boxed()
    }
}

fn evidence(passage: &Passage) -> Evidence<'_> {
    Evidence {
        title: &passage.title,
        text: &passage.text,
    }
}

/// The finer score where there is one, else the verdict's own.
fn score(fine: Option<f64>, plain: f64) -> f64 {
    fine.filter(|fine| fine.is_finite()).unwrap_or(plain).clamp(0.0, 1.0)
}

fn sum<T>(calls: Vec<Call<T>>) -> Graded<Vec<Grade<T>>> {
    let mut usage = Usage::default();
    let grades = calls
        .into_iter()
        .map(|(grade, cost)| {
            usage.model_calls += cost.model_calls;
            usage.input_tokens += cost.input_tokens;
            usage.output_tokens += cost.output_tokens;
            grade.into()
        })
        .collect();
    Graded { grades, usage }
}

fn failed(what: &'static str, error: &(dyn std::error::Error + 'static)) -> Ungraded {
    let error = chain(error);
    tracing::warn!(error, "{what}");
    Ungraded::Failed(error)
}

/// Enough of a reply to see what went wrong with it.
fn beginning(reply: &str) -> String {
    const MOST: usize = 60;
    let mut beginning: String = reply.trim().chars().take(MOST).collect();
    if reply.trim().chars().nth(MOST).is_some() {
        beginning.push('…');
    }
    beginning
}

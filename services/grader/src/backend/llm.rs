//! Grades from a language model.

use std::sync::Arc;

use emend_chassis::{Deadline, Scope, chain};
use emend_models::chat::{Chat, ChatError, ChatReply};
use emend_models::prompt::{
    DecideRetrieval, Evidence, GradeDocuments, GradeGroundedness, GradeStrips, GradeUsefulness, PromptError, Prompts,
    Rendered,
};
use emend_models::verdict::{self, Support, Verdict};
use emend_proto::v1::{Passage, Usage};
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use tokio::sync::Semaphore;

use super::{
    Backend, Grade, Graded, Groundedness, Retrieval, Strips, Thresholds, Ungraded, Usefulness, grading_deadline,
};
use crate::config::LlmOptions;
use crate::error::LoadError;

/// Tokens of a verdict on one strip, braces and quotes among them, with room to spare.
const TOKENS_A_STRIP: usize = 24;
/// Tokens of verdicts that need more than the model's own limit on a reply, and the room that is left for it to think.
const LONG_REPLY: usize = 1024;

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
                strip: options.llm_relevance_threshold,
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
        self.ask_at_length(rendered, None, until, read).await
    }

    /// The same with a limit in tokens of its own.
    async fn ask_at_length<T>(
        &self,
        rendered: Result<Rendered, PromptError>,
        max_tokens: Option<u32>,
        until: Deadline,
        read: impl FnOnce(&ChatReply) -> Option<T>,
    ) -> Call<T> {
        let mut request = match rendered {
            Ok(rendered) => rendered.request(),
            Err(error) => return (Err(failed("the prompt cannot be rendered", &error)), Usage::default()),
        };
        // A grade is to be the same each time it is asked for.
        request.temperature = Some(0.0);
        request.max_tokens = max_tokens;
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
                Support::Full => (1.0, 0.0),
                Support::Partial => (0.0, 1.0),
                Support::No => (0.0, 0.0),
            };
            let (fully, partially) = pair(verdict::support_probabilities(&reply.logprobs), plain);
            Some(Groundedness {
                score: fully + partially / 2.0,
                fully,
                partially,
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
                // The weights are those of the utilities 1 to 5.
                expected: expected
                    .filter(|expected| expected.is_finite())
                    .map_or(f64::from(utility), |share| 1.0 + 4.0 * share.clamp(0.0, 1.0)),
                score: score(expected, f64::from(utility.saturating_sub(1)) / 4.0),
                useful: utility >= self.settings.useful_utility,
            })
        })
        .await
    }

    /// One call for all strips of a passage. A reply with too many verdicts or too few, or in another order, is none: it
    /// does not say which verdict is whose.
    async fn strips_of(&self, question: &str, strips: &Strips<'_>, until: Deadline) -> (Vec<Grade<f64>>, Usage) {
        let count = strips.texts.len();
        let rendered = self.prompts.render(&GradeStrips {
            question,
            title: strips.title,
            strips: &strips.texts,
        });
        let tokens = TOKENS_A_STRIP * count;
        let limit = (tokens > LONG_REPLY).then(|| u32::try_from(tokens + LONG_REPLY).unwrap_or(u32::MAX));
        let (verdicts, usage) = self
            .ask_at_length(rendered, limit, until, |reply| {
                let verdicts = verdict::list(&reply.text, count)?;
                let fine = verdict::probabilities(&reply.logprobs, count);
                Some((verdicts, fine, beginning(&reply.text)))
            })
            .await;
        let grades = match verdicts {
            Ok((verdicts, fine, reply)) => {
                let one = |(place, verdict): (usize, Option<Verdict>)| match verdict {
                    Some(verdict) => Grade::Graded(score(
                        fine.as_ref().and_then(|fine| fine.get(place).copied()),
                        if verdict.is_yes() { 1.0 } else { 0.0 },
                    )),
                    None => Grade::Ungraded(Ungraded::NoVerdict { reply: reply.clone() }),
                };
                verdicts.into_iter().enumerate().map(one).collect()
            }
            Err(reason) => vec![Grade::Ungraded(reason); count],
        };
        (grades, usage)
    }

    async fn retrieval_of(
        &self,
        question: &str,
        answer_so_far: &str,
        passages: &[Passage],
        until: Deadline,
    ) -> Call<Retrieval> {
        let evidence: Vec<Evidence<'_>> = passages.iter().map(evidence).collect();
        let rendered = self.prompts.render(&DecideRetrieval {
            question,
            answer_so_far,
            passages: &evidence,
        });
        self.ask(rendered, until, |reply| {
            let plain = match verdict::retrieval(&reply.text)? {
                verdict::Retrieval::Yes => (1.0, 0.0),
                verdict::Retrieval::Continue => (0.0, 1.0),
                verdict::Retrieval::No => (0.0, 0.0),
            };
            let (yes, more) = pair(verdict::retrieval_probabilities(&reply.logprobs), plain);
            Some(Retrieval { yes, more })
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

    fn strips<'a>(
        &'a self,
        question: &'a str,
        passages: &'a [Strips<'a>],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Vec<Grade<f64>>>> {
        async move {
            let until = grading_deadline(scope);
            let calls = join_all(passages.iter().map(|strips| self.strips_of(question, strips, until))).await;
            let mut all = Graded::free(Vec::new());
            for (grades, cost) in calls {
                all.grades.extend(grades);
                add(&mut all.usage, &cost);
            }
            all
        }
        .boxed()
    }

    fn retrieval<'a>(
        &'a self,
        question: &'a str,
        answer_so_far: &'a str,
        passages: &'a [Passage],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Grade<Retrieval>>> {
        async move {
            let until = grading_deadline(scope);
            let (grade, usage) = self.retrieval_of(question, answer_so_far, passages, until).await;
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

/// The finer pair of probabilities where there is one, else the verdict's own; together at most 1.
fn pair(fine: Option<(f64, f64)>, plain: (f64, f64)) -> (f64, f64) {
    let (first, second) = fine
        .filter(|(first, second)| first.is_finite() && second.is_finite())
        .unwrap_or(plain);
    let first = first.clamp(0.0, 1.0);
    (first, second.clamp(0.0, 1.0 - first))
}

fn sum<T>(calls: Vec<Call<T>>) -> Graded<Vec<Grade<T>>> {
    let mut usage = Usage::default();
    let grades = calls
        .into_iter()
        .map(|(grade, cost)| {
            add(&mut usage, &cost);
            grade.into()
        })
        .collect();
    Graded { grades, usage }
}

fn add(usage: &mut Usage, cost: &Usage) {
    usage.model_calls += cost.model_calls;
    usage.input_tokens += cost.input_tokens;
    usage.output_tokens += cost.output_tokens;
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

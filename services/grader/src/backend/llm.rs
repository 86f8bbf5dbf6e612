//! Grades from a language model.

mod cache;
mod list;

use std::future::Future;
use std::sync::Arc;

use emend_chassis::metrics;
use emend_core::{Deadline, Scope, error_chain};
use emend_models::chat::{Accepts, Chat, ChatError, ChatReply, Receipt};
use emend_models::prompt::{
    DecideRetrieval, Evidence, GradeDocuments, GradeGroundedness, GradeUsefulness, PromptError, Prompts, Rendered,
};
use emend_models::verdict::{self, Support};
use emend_proto::v1::{Passage, Usage};
use emend_text::Language;
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};

use super::{
    Backend, Grade, Graded, Groundedness, Retrieval, Strips, Thresholds, Ungraded, Usefulness, add, grading_deadline,
};
use crate::config::LlmOptions;
use crate::error::LoadError;
use cache::{CachePolicy, Given, GradeCache, Key};

/// Settings of the backend `llm`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LlmSettings {
    /// Passages graded in one call; with 1, each passage has its own call.
    pub batch: usize,
    /// Entries of the grade cache; 0 turns it off.
    pub cache_entries: u64,
    /// Alternative tokens to request log-probabilities for, per token, 0–20; 0 requests none.
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
            batch: usize::from(options.llm_batch_grading),
            cache_entries: options.grade_cache_entries,
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

/// The backend `llm`: one call for each passage or batch of passages, each sentence or each answer,
/// constrained to a verdict. Calls run concurrently, as far as the model's client allows (R9).
/// Every verdict is read by [`verdict`] (R5). Grades are cached, and concurrent requests for the
/// same grade share one call.
pub struct LlmBackend {
    chat: Arc<dyn Chat>,
    prompts: Prompts,
    settings: LlmSettings,
    cache: GradeCache,
}

/// One call: the grade, and what it cost.
type Call<T> = (Result<T, Ungraded>, Usage);

impl LlmBackend {
    /// Grades with this model and these prompts.
    pub fn new(chat: Arc<dyn Chat>, prompts: Prompts, settings: LlmSettings) -> Self {
        let cache = GradeCache::new(settings.cache_entries, &metrics::meter());
        Self {
            chat,
            prompts,
            settings,
            cache,
        }
    }

    /// The grade of a prompt: from the cache, from a call that is already running, or from a new
    /// call.
    async fn ask<T: Clone + Send + Sync + 'static>(
        &self,
        rendered: Result<Rendered, PromptError>,
        until: Deadline,
        read: impl Fn(&ChatReply) -> Option<T> + Clone + Send + Sync + 'static,
    ) -> Call<T> {
        let rendered = match rendered {
            Ok(rendered) => rendered,
            Err(error) => return (Err(unrendered(&error)), Usage::default()),
        };
        let key = Key::of_prompt(self.chat.model(), &rendered);
        let give = |receipt| self.call(rendered.clone(), until, receipt, read.clone());
        let (grade, usage) = self.join(Some(rendered.name), key, until, give).await;
        (grade.unwrap_or(Err(Ungraded::OutOfTime)), usage)
    }

    /// [`GradeCache::join`] with a deadline; `None` if the deadline expires first.
    async fn join<T, F>(
        &self,
        task: Option<&'static str>,
        key: Key,
        until: Deadline,
        give: impl Fn(Receipt) -> F + Send + Sync,
    ) -> (Option<T>, Usage)
    where
        T: Clone + Send + Sync + 'static,
        F: Future<Output = Given<T>> + Send,
    {
        let receipt = Receipt::default();
        match until.run(self.cache.join(task, key, || give(receipt.clone()))).await {
            Ok((outcome, usage)) => (Some(outcome), usage),
            Err(_) => (None, paid(&receipt)),
        }
    }

    /// Calls the model and reads its reply. The grade of a fallback model is not cached.
    async fn call<T>(
        &self,
        rendered: Rendered,
        until: Deadline,
        receipt: Receipt,
        read: impl Fn(&ChatReply) -> Option<T> + Clone + Send + Sync + 'static,
    ) -> Given<Result<T, Ungraded>> {
        let mut request = rendered.request();
        // The same prompt should get the same grade each time.
        request.temperature = Some(0.0);
        request.top_logprobs = self.settings.top_logprobs;
        request.deadline = Some(until.instant());
        request.receipt = receipt.clone();
        request.accepts = Accepts::only({
            let read = read.clone();
            move |reply| read(reply).is_some()
        });
        let reply = until.run(self.chat.complete(request)).await;
        let mut usage = paid(&receipt);
        let is_own = receipt.model().is_none_or(|model| model == self.chat.model());
        let mut holds = CachePolicy::Shared;
        let outcome = match reply {
            Ok(Ok(reply)) => {
                usage.model_calls = usage.model_calls.max(1);
                usage.input_tokens += reply.usage.input_tokens;
                usage.output_tokens += reply.usage.output_tokens;
                let grade = read(&reply).ok_or_else(|| Ungraded::NoVerdict {
                    reply: beginning(&reply.text),
                });
                if grade.is_ok() && is_own {
                    holds = CachePolicy::Kept;
                }
                grade
            }
            Ok(Err(ChatError::Timeout { .. })) if until.is_expired() => {
                holds = CachePolicy::Own;
                Err(Ungraded::OutOfTime)
            }
            Ok(Err(error)) => {
                // A request with more time may wait until the rate limit of the server is over.
                if matches!(error, ChatError::RateLimited { .. }) {
                    holds = CachePolicy::Own;
                }
                Err(failed("the model gave no grade", &error))
            }
            Err(_) => {
                holds = CachePolicy::Own;
                Err(Ungraded::OutOfTime)
            }
        };
        Given { outcome, usage, holds }
    }

    async fn relevance_of(&self, question: &str, passage: &Passage, until: Deadline) -> Call<f64> {
        if passage.text.trim().is_empty() {
            return (Err(Ungraded::NoText), Usage::default());
        }
        let input = GradeDocuments {
            question,
            passage: evidence(passage),
        };
        let rendered = self.prompts.render(&input, emend_text::language(question));
        self.ask(rendered, until, |reply| {
            let verdict = verdict::parse(&reply.text)?;
            Some(score(
                verdict::probability(&reply.logprobs),
                if verdict.is_yes() { 1.0 } else { 0.0 },
            ))
        })
        .await
    }

    async fn groundedness_of(
        &self,
        sentence: &str,
        passages: &[Evidence<'_>],
        language: Language,
        until: Deadline,
    ) -> Call<Groundedness> {
        let rendered = self.prompts.render(&GradeGroundedness { sentence, passages }, language);
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
        let rendered = self
            .prompts
            .render(&GradeUsefulness { question, answer }, emend_text::language(question));
        let from = self.settings.useful_utility;
        self.ask(rendered, until, move |reply| {
            let utility = verdict::utility(&reply.text)?;
            // Expected utility has the weights −1 to 1 of Self-RAG; a score is a probability.
            let expected = verdict::utility_score(&reply.logprobs).map(|weighted| (weighted + 1.0) / 2.0);
            Some(Usefulness {
                utility,
                // Maps the weights back to the utilities 1 to 5.
                expected: expected
                    .filter(|expected| expected.is_finite())
                    .map_or(f64::from(utility), |share| 1.0 + 4.0 * share.clamp(0.0, 1.0)),
                score: score(expected, f64::from(utility.saturating_sub(1)) / 4.0),
                useful: utility >= from,
            })
        })
        .await
    }

    async fn retrieval_of(
        &self,
        question: &str,
        answer_so_far: &str,
        passages: &[Passage],
        until: Deadline,
    ) -> Call<Retrieval> {
        let evidence: Vec<Evidence<'_>> = passages.iter().map(evidence).collect();
        let input = DecideRetrieval {
            question,
            answer_so_far,
            passages: &evidence,
        };
        let rendered = self.prompts.render(&input, emend_text::language(question));
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
            if self.settings.batch > 1 {
                return self.relevance_of_batches(question, passages, until).await;
            }
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
        question: &'a str,
        sentences: &'a [&'a str],
        passages: &'a [Passage],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Vec<Grade<Groundedness>>>> {
        async move {
            let until = grading_deadline(scope);
            let language = emend_text::language(question);
            let passages: Vec<Evidence<'_>> = passages
                .iter()
                .filter(|p| !p.text.trim().is_empty())
                .map(evidence)
                .collect();
            join_all(
                sentences
                    .iter()
                    .map(|sentence| self.groundedness_of(sentence, &passages, language, until)),
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
        _: &'a [Passage],
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

/// The cost of a request without the tokens of its reply.
fn paid(receipt: &Receipt) -> Usage {
    let waste = receipt.waste();
    Usage {
        model_calls: receipt.calls(),
        input_tokens: waste.input_tokens,
        output_tokens: waste.output_tokens,
    }
}

fn evidence(passage: &Passage) -> Evidence<'_> {
    Evidence {
        title: &passage.title,
        text: &passage.text,
    }
}

/// The finer score if there is one, otherwise that of the verdict.
fn score(fine: Option<f64>, plain: f64) -> f64 {
    fine.filter(|fine| fine.is_finite()).unwrap_or(plain).clamp(0.0, 1.0)
}

/// The finer pair of probabilities if there is one, otherwise that of the verdict; together at most
/// 1.
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

fn unrendered(error: &PromptError) -> Ungraded {
    failed("the prompt cannot be rendered", error)
}

fn failed(what: &'static str, error: &(dyn std::error::Error + 'static)) -> Ungraded {
    let error = error_chain(error);
    tracing::warn!(error, "{what}");
    Ungraded::Failed(error)
}

/// The beginning of a reply, for the error message.
fn beginning(reply: &str) -> String {
    const MAX_WORDS: usize = 60;
    let mut beginning: String = reply.trim().chars().take(MAX_WORDS).collect();
    if reply.trim().chars().nth(MAX_WORDS).is_some() {
        beginning.push('…');
    }
    beginning
}

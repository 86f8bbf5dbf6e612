//! Grades from a language model.

mod ask;
mod cache;
mod list;

use std::borrow::Cow;
use std::sync::Arc;

use emend_chassis::metrics;
use emend_core::{Deadline, Scope, error_chain};
use emend_models::chat::{Chat, Receipt};
use emend_models::prompt::{
    DecideRetrieval, Evidence, GradeDocuments, GradeGroundedness, GradeUsefulness, PromptError, Prompts,
};
use emend_models::verdict::{self, Support};
use emend_proto::v1::{Passage, Usage};
use emend_text::Language;
use futures::future::{BoxFuture, join_all};
use futures::{FutureExt, StreamExt, stream};

use super::{
    Backend, Grade, Graded, Groundedness, Retrieval, Strips, Thresholds, Ungraded, Usefulness, add, grading_deadline,
    title_lines,
};
use crate::config::LlmOptions;
use crate::error::LoadError;
use cache::GradeCache;

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

/// Most bytes of evidence in the prompts of a request at the same time: the prompt of each sentence repeats all of the
/// evidence, and a hundred long passages for each of a thousand sentences exceed the memory of a machine.
const MAX_PROMPT_BYTES: usize = 32 << 20;

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

    async fn relevance_of(&self, question: &str, passage: &Passage, until: Deadline) -> Call<f64> {
        if passage.text.trim().is_empty() {
            return (Err(Ungraded::NoText), Usage::default());
        }
        let (question, passage) = (question.to_owned(), passage.clone());
        let bytes = question.len() + size(&passage);
        let render = move |prompts: &Prompts| {
            let input = GradeDocuments {
                question: &question,
                passage: Evidence {
                    title: &passage.title_line(),
                    text: &passage.text,
                },
            };
            prompts.render(&input, emend_text::language(&question))
        };
        self.ask(bytes, render, until, |reply| {
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
        passages: &Arc<[Passage]>,
        language: Language,
        until: Deadline,
    ) -> Call<Groundedness> {
        let (sentence, passages) = (sentence.to_owned(), Arc::clone(passages));
        let bytes = sentence.len() + passages.iter().map(size).sum::<usize>();
        let render = move |prompts: &Prompts| {
            let titles = title_lines(passages.iter());
            let passages = evidence(passages.iter(), &titles);
            let input = GradeGroundedness {
                sentence: &sentence,
                passages: &passages,
            };
            prompts.render(&input, language)
        };
        self.ask(bytes, render, until, |reply| {
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
        let (question, answer) = (question.to_owned(), answer.to_owned());
        let bytes = question.len() + answer.len();
        let render = move |prompts: &Prompts| {
            let input = GradeUsefulness {
                question: &question,
                answer: &answer,
            };
            prompts.render(&input, emend_text::language(&question))
        };
        let from = self.settings.useful_utility;
        self.ask(bytes, render, until, move |reply| {
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
        let (question, answer_so_far) = (question.to_owned(), answer_so_far.to_owned());
        let passages = passages.to_vec();
        let bytes = answer_so_far.len() + passages.iter().map(size).sum::<usize>();
        let render = move |prompts: &Prompts| {
            let titles = title_lines(passages.iter());
            let passages = evidence(passages.iter(), &titles);
            let input = DecideRetrieval {
                question: &question,
                answer_so_far: &answer_so_far,
                passages: &passages,
            };
            prompts.render(&input, emend_text::language(&question))
        };
        self.ask(bytes, render, until, |reply| {
            let plain = match verdict::retrieval(&reply.text)? {
                verdict::Retrieval::Yes => (1.0, 0.0),
                verdict::Retrieval::Continue => (0.0, 1.0),
                verdict::Retrieval::No => (0.0, 0.0),
            };
            let (yes, continues) = pair(verdict::retrieval_probabilities(&reply.logprobs), plain);
            Some(Retrieval { yes, continues })
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
            let passages = passages.iter().filter(|p| !p.text.trim().is_empty());
            let passages: Arc<[Passage]> = passages.cloned().collect();
            let bytes: usize = passages.iter().map(size).sum();
            let at_once = (MAX_PROMPT_BYTES / bytes.max(1)).clamp(1, sentences.len().max(1));
            let calls = sentences
                .iter()
                .map(|sentence| self.groundedness_of(sentence, &passages, language, until));
            // The futures are created here and start as the limit of evidence in prompts allows.
            let calls: Vec<_> = calls.collect();
            stream::iter(calls).buffered(at_once).collect::<Vec<_>>().map(sum).await
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

/// The bytes of a passage in a prompt.
fn size(passage: &Passage) -> usize {
    passage.title_line().len() + passage.text.len()
}

/// Passages as prompts take them, with a title for each.
fn evidence<'a>(passages: impl IntoIterator<Item = &'a Passage>, titles: &'a [Cow<'a, str>]) -> Vec<Evidence<'a>> {
    let titled = passages.into_iter().zip(titles);
    let evidence = titled.map(|(passage, title)| Evidence {
        title,
        text: &passage.text,
    });
    evidence.collect()
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
    const MAX_CHARS: usize = 60;
    let mut beginning: String = reply.trim().chars().take(MAX_CHARS).collect();
    if reply.trim().chars().nth(MAX_CHARS).is_some() {
        beginning.push('…');
    }
    beginning
}

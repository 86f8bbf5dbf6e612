//! Several grades in one call.

use emend_core::Deadline;
use emend_models::chat::ChatReply;
use emend_models::prompt::{GradeDocumentsBatch, GradeStrips, Prompt, Rendered};
use emend_models::verdict::{self, Verdict};
use emend_proto::v1::{Passage, Usage};
use futures::FutureExt;
use futures::future::join_all;

use super::cache::{CachePolicy, Given, Key};
use super::{LlmBackend, add, beginning, evidence, score, unrendered};
use crate::backend::{Grade, Graded, Strips, Ungraded, title_lines};

impl LlmBackend {
    /// Grades passages in batches of the size in the settings. Cached passages are left out. No
    /// passage is sent twice, so that there are never more calls than passages.
    pub(super) async fn relevance_of_batches(
        &self,
        question: &str,
        passages: &[Passage],
        until: Deadline,
    ) -> Graded<Vec<Grade<f64>>> {
        let language = emend_text::language(question);
        let version = self.prompts.version::<GradeDocumentsBatch<'_>>(language);
        let key = |passage: &Passage| {
            let title = passage.title_line();
            let texts = [self.chat.model(), version, question, &title, &passage.text];
            Key::of(texts)
        };
        let mut grades: Vec<Option<Grade<f64>>> = Vec::with_capacity(passages.len());
        for passage in passages {
            grades.push(if passage.text.trim().is_empty() {
                Some(Grade::Ungraded(Ungraded::NoText))
            } else {
                let known = self.cache.get(GradeDocumentsBatch::NAME, &key(passage)).await;
                known.map(Grade::Graded)
            });
        }
        let open: Vec<usize> = (0..passages.len()).filter(|place| grades[*place].is_none()).collect();
        let calls = open.chunks(self.settings.batch).map(|places| async move {
            let asked = || places.iter().map(|place| &passages[*place]);
            let titles = title_lines(asked());
            let evidence = evidence(asked(), &titles);
            let input = GradeDocumentsBatch {
                question,
                passages: &evidence,
            };
            let asked = match self.prompts.render(&input, language) {
                // The passages are cached one by one.
                Ok(rendered) => self.list(None, rendered, places.len(), until).await,
                Err(error) => (Listed::none(places.len(), &unrendered(&error)), Usage::default()),
            };
            (places, asked)
        });
        let mut usage = Usage::default();
        for (places, (listed, cost)) in join_all(calls).await {
            add(&mut usage, &cost);
            for (place, grade) in places.iter().zip(listed.grades) {
                if let (Grade::Graded(score), true) = (&grade, listed.is_own) {
                    self.cache.put(key(&passages[*place]), *score).await;
                }
                grades[*place] = Some(grade);
            }
        }
        let grades = grades
            .into_iter()
            .map(|grade| grade.unwrap_or(Grade::Ungraded(Ungraded::OutOfTime)))
            .collect();
        Graded { grades, usage }
    }

    /// Grades all strips of a passage in one call. They are cached only if each of them has a
    /// grade.
    pub(super) async fn strips_of(
        &self,
        question: &str,
        strips: &Strips<'_>,
        until: Deadline,
    ) -> (Vec<Grade<f64>>, Usage) {
        let count = strips.texts.len();
        let input = GradeStrips {
            question,
            title: strips.title,
            strips: &strips.texts,
        };
        let rendered = match self.prompts.render(&input, emend_text::language(question)) {
            Ok(rendered) => rendered,
            Err(error) => return (vec![Grade::Ungraded(unrendered(&error)); count], Usage::default()),
        };
        let (listed, usage) = self.list(Some(rendered.name), rendered, count, until).await;
        (listed.grades, usage)
    }

    /// Makes one call for `count` numbered items. With a `task`, the reply is cached as a whole. A
    /// reply with too many or too few verdicts, or with another order, is no verdict at all,
    /// because its verdicts cannot be assigned to the items.
    async fn list(
        &self,
        task: Option<&'static str>,
        rendered: Rendered,
        count: usize,
        until: Deadline,
    ) -> (Listed, Usage) {
        let read = move |reply: &ChatReply| {
            let verdicts = verdict::list(&reply.text, count)?;
            let fine = verdict::probabilities(&reply.logprobs, count);
            let one = |(place, verdict): (usize, Option<Verdict>)| match verdict {
                Some(verdict) => Grade::Graded(score(
                    fine.as_ref().and_then(|fine| fine.get(place).copied()),
                    if verdict.is_yes() { 1.0 } else { 0.0 },
                )),
                None => Grade::Ungraded(Ungraded::NoVerdict {
                    reply: beginning(&reply.text),
                }),
            };
            Some(verdicts.into_iter().enumerate().map(one).collect::<Vec<_>>())
        };
        let key = Key::of_prompt(self.chat.model(), &rendered);
        let give = |receipt| {
            let asked = self.call(rendered.clone(), until, receipt, read);
            asked.map(|given| Listed::of(given, count, task.is_some()))
        };
        let (listed, usage) = self.join(task, key, until, give).await;
        (
            listed.unwrap_or_else(|| Listed::none(count, &Ungraded::OutOfTime)),
            usage,
        )
    }
}

/// The grades of one call, one for each item.
#[derive(Clone)]
struct Listed {
    grades: Vec<Grade<f64>>,
    /// Whether they may be cached: they come from the requested model, not from a fallback.
    is_own: bool,
}

impl Listed {
    /// The result of a call for `count` grades. It is cached as a whole only if it `may` be and no
    /// grade is missing.
    fn of(given: Given<Result<Vec<Grade<f64>>, Ungraded>>, count: usize, may: bool) -> Given<Self> {
        let Given { outcome, usage, holds } = given;
        let listed = match outcome {
            Ok(grades) => Self {
                grades,
                is_own: holds == CachePolicy::Kept,
            },
            Err(reason) => Self::none(count, &reason),
        };
        let is_whole = listed.grades.iter().all(|grade| grade.graded().is_some());
        let holds = match holds {
            CachePolicy::Kept if !may || !is_whole => CachePolicy::Shared,
            holds => holds,
        };
        Given {
            outcome: listed,
            usage,
            holds,
        }
    }

    fn none(count: usize, reason: &Ungraded) -> Self {
        Self {
            grades: vec![Grade::Ungraded(reason.clone()); count],
            is_own: false,
        }
    }
}

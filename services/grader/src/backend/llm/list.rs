//! Several grades in one call.

use emend_chassis::Deadline;
use emend_models::prompt::{Evidence, GradeDocumentsBatch, GradeStrips, Prompt, Rendered};
use emend_models::text;
use emend_models::verdict::{self, Verdict};
use emend_proto::v1::{Passage, Usage};
use futures::future::join_all;

use super::cache::Key;
use super::{Asked, LlmBackend, add, beginning, evidence, score, unrendered};
use crate::backend::{Grade, Graded, Strips, Ungraded};

/// Tokens of one verdict of a list, braces and quotes among them, with room to spare.
const TOKENS_A_VERDICT: usize = 24;
/// Tokens of verdicts that need more than the model's own limit on a reply, and the room that is left for it to think.
const LONG_REPLY: usize = 1024;

impl LlmBackend {
    /// As many passages a call as the settings say, none that is known already among them. No passage is asked about
    /// twice, so that there are never more calls than passages.
    pub(super) async fn relevance_of_batches(
        &self,
        question: &str,
        passages: &[Passage],
        until: Deadline,
    ) -> Graded<Vec<Grade<f64>>> {
        let language = text::language(question);
        let version = self.prompts.version::<GradeDocumentsBatch<'_>>(language);
        let key = |passage: &Passage| {
            let texts = [self.chat.model(), version, question, &passage.title, &passage.text];
            Key::of(texts)
        };
        let mut grades: Vec<Option<Grade<f64>>> = passages
            .iter()
            .map(|passage| {
                if passage.text.trim().is_empty() {
                    return Some(Grade::Ungraded(Ungraded::NoText));
                }
                let known = self.cache.get(GradeDocumentsBatch::NAME, &key(passage));
                known.map(Grade::Graded)
            })
            .collect();
        let open: Vec<usize> = (0..passages.len()).filter(|place| grades[*place].is_none()).collect();
        let calls = open.chunks(self.settings.batch).map(|places| async move {
            let evidence: Vec<Evidence<'_>> = places.iter().map(|place| evidence(&passages[*place])).collect();
            let input = GradeDocumentsBatch {
                question,
                passages: &evidence,
            };
            let asked = match self.prompts.render(&input, language) {
                Ok(rendered) => self.list(rendered, places.len(), until).await,
                Err(error) => Listed::none(places.len(), &unrendered(&error), Usage::default()),
            };
            (places, asked)
        });
        let mut usage = Usage::default();
        for (places, listed) in join_all(calls).await {
            add(&mut usage, &listed.usage);
            for (place, grade) in places.iter().zip(listed.grades) {
                if let (Grade::Graded(score), true) = (&grade, listed.is_own) {
                    self.cache.put(key(&passages[*place]), *score);
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

    /// One call for all strips of a passage. They are kept only where each of them has a grade.
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
        let rendered = match self.prompts.render(&input, text::language(question)) {
            Ok(rendered) => rendered,
            Err(error) => return (vec![Grade::Ungraded(unrendered(&error)); count], Usage::default()),
        };
        let key = Key::of_prompt(self.chat.model(), &rendered);
        if let Some(scores) = self.cache.get::<Vec<f64>>(rendered.name, &key) {
            return (scores.into_iter().map(Grade::Graded).collect(), Usage::default());
        }
        let listed = self.list(rendered, count, until).await;
        let scores: Option<Vec<f64>> = listed.grades.iter().map(|grade| grade.graded().copied()).collect();
        if let (Some(scores), true) = (scores, listed.is_own) {
            self.cache.put(key, scores);
        }
        (listed.grades, listed.usage)
    }

    /// One call for `count` numbered things. A reply with too many verdicts or too few, or in another order, is none: it
    /// does not say which verdict is whose.
    async fn list(&self, rendered: Rendered, count: usize, until: Deadline) -> Listed {
        let tokens = TOKENS_A_VERDICT * count;
        let limit = (tokens > LONG_REPLY).then(|| u32::try_from(tokens + LONG_REPLY).unwrap_or(u32::MAX));
        let asked = self.call(rendered, limit, until, |reply| {
            let verdicts = verdict::list(&reply.text, count)?;
            let fine = verdict::probabilities(&reply.logprobs, count);
            Some((verdicts, fine, beginning(&reply.text)))
        });
        let Asked { grade, usage, is_own } = asked.await;
        match grade {
            Ok((verdicts, fine, reply)) => {
                let one = |(place, verdict): (usize, Option<Verdict>)| match verdict {
                    Some(verdict) => Grade::Graded(score(
                        fine.as_ref().and_then(|fine| fine.get(place).copied()),
                        if verdict.is_yes() { 1.0 } else { 0.0 },
                    )),
                    None => Grade::Ungraded(Ungraded::NoVerdict { reply: reply.clone() }),
                };
                Listed {
                    grades: verdicts.into_iter().enumerate().map(one).collect(),
                    usage,
                    is_own,
                }
            }
            Err(reason) => Listed::none(count, &reason, usage),
        }
    }
}

/// The grades of one call, as many as were asked for.
struct Listed {
    grades: Vec<Grade<f64>>,
    usage: Usage,
    /// As [`Asked::is_own`].
    is_own: bool,
}

impl Listed {
    fn none(count: usize, reason: &Ungraded, usage: Usage) -> Self {
        Self {
            grades: vec![Grade::Ungraded(reason.clone()); count],
            usage,
            is_own: false,
        }
    }
}

//! Grades from the evaluator in this process.

mod needs;

use std::borrow::Cow;
use std::sync::Arc;

use emend_core::{BrokenOff, Deadline, Scope, Turns, error_chain};
use emend_evaluator::{EvaluateError, Evaluator, PassageText, SentenceScore, unnamed};
use emend_proto::v1::Passage;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{
    Backend, Grade, Graded, Groundedness, Retrieval, Strips, Thresholds, Ungraded, Usefulness, grading_deadline,
    title_lines,
};

/// Passages embedded between two checks of the deadline: enough to use all threads of an embedder,
/// few enough to have some grades when time is short.
const BATCH: usize = 4;
/// Strips embedded between two checks of the deadline. They are shorter than passages.
const STRIP_BATCH: usize = 16;

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
        let is_blank = |passage: &PassageText<'_>| passage.text.trim().is_empty();
        let titles = title_lines(passages);
        let texts = match passage_texts(question, passages, &titles, until).await {
            Ok(texts) => texts,
            Err(reason) => return vec![Grade::Ungraded(reason); passages.len()],
        };
        for batch in texts.chunks(BATCH) {
            let texts: Vec<PassageText<'_>> = batch.iter().copied().filter(|passage| !is_blank(passage)).collect();
            let Ok(scores) = until.run(self.evaluator.relevance(question, &texts)).await else {
                break;
            };
            let mut scores = scores.map(Vec::into_iter).map_err(failed);
            grades.extend(batch.iter().map(|passage| match &mut scores {
                _ if is_blank(passage) => Grade::Ungraded(Ungraded::NoText),
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
        let mut grounded = Vec::with_capacity(sentences.len());
        let done = until
            .run(self.evaluator.ground(question, sentences, &evidence, &mut grounded))
            .await;
        let missing = match done {
            Ok(Err(error)) => failed(error),
            Ok(Ok(())) | Err(_) => Ungraded::OutOfTime,
        };
        let grades = grounded.into_iter().map(|g| {
            Grade::Graded(Groundedness {
                score: g.probability,
                fully: g.probability,
                partially: 0.0,
                level: g.level,
            })
        });
        let mut grades: Vec<Grade<Groundedness>> = grades.collect();
        grades.resize(sentences.len(), Grade::Ungraded(missing));
        grades
    }

    async fn usefulness_of(
        &self,
        question: &str,
        answer: &str,
        passages: &[Passage],
        scope: &Scope,
    ) -> Grade<Usefulness> {
        let titles = title_lines(passages);
        let until = grading_deadline(scope);
        let texts = match passage_texts(question, passages, &titles, until).await {
            Ok(texts) => texts,
            Err(reason) => return Grade::Ungraded(reason),
        };
        let Ok(result) = until.run(self.evaluator.usefulness(question, answer, &texts)).await else {
            return Grade::Ungraded(Ungraded::OutOfTime);
        };
        result
            .map(|u| Usefulness {
                utility: u.utility,
                expected: 1.0 + 4.0 * u.probability,
                score: u.probability,
                useful: u.useful,
            })
            .map_err(failed)
            .into()
    }
}

impl EmbeddedBackend {
    async fn strips_of(&self, question: &str, passages: &[Strips<'_>], scope: &Scope) -> Vec<Grade<f64>> {
        let until = grading_deadline(scope);
        let texts: Vec<PassageText<'_>> = passages
            .iter()
            .flat_map(|strips| {
                let title = strips.title;
                let texts = strips.texts.iter().copied().map(PassageText::from);
                texts.map(move |text| PassageText { title, ..text })
            })
            .collect();
        let mut grades = Vec::with_capacity(texts.len());
        for batch in texts.chunks(STRIP_BATCH) {
            let Ok(scores) = until.run(self.evaluator.relevance(question, batch)).await else {
                break;
            };
            match scores.map_err(failed) {
                Ok(scores) => {
                    let mut scores = scores.into_iter();
                    grades.extend(batch.iter().map(|_| scores.next().map_or_else(missing, Grade::Graded)));
                }
                Err(reason) => grades.extend(batch.iter().map(|_| Grade::Ungraded(reason.clone()))),
            }
        }
        grades.resize(texts.len(), Grade::Ungraded(Ungraded::OutOfTime));
        grades
    }

    /// Whether the answer needs evidence. A rule combines grades of the evaluator; no model was
    /// fitted to such decisions.
    ///
    /// P(YES) is the product of three probabilities: that the question asks for facts (by its
    /// words: [`needs::facts`]), that the passages hold nothing relevant (1 − the best passage's
    /// relevance; 1 without passages), and that the answer so far does not address the question (1
    /// − its usefulness; 1 at its beginning).
    ///
    /// P(CONTINUE) is 1 − P(YES), times the highest probability that a sentence of the passages
    /// answers the question. Sentences that the answer has said already do not count. The rest is
    /// P(NO).
    async fn retrieval_of(
        &self,
        question: &str,
        answer_so_far: &str,
        passages: &[Passage],
        scope: &Scope,
    ) -> Result<Retrieval, Ungraded> {
        let until = grading_deadline(scope);
        let out_of_time = |_| Ungraded::OutOfTime;
        let mut useful = 0.0;
        if !answer_so_far.trim().is_empty() {
            let graded = until.run(self.evaluator.usefulness(question, answer_so_far, &[])).await;
            useful = graded.map_err(out_of_time)?.map_err(failed)?.probability;
        }
        let (asked, answer) = (question.to_owned(), answer_so_far.to_owned());
        let prepare = move || (needs::facts(&asked), Arc::new(needs::Said::new(&answer)));
        let prepared = Turns::shared().piece(answer_so_far.len(), prepare);
        let (facts, said) = prepared.await.map_err(broken_off)?;
        let (mut relevant, mut unsaid) = (0.0_f64, 0.0_f64);
        let titles = title_lines(passages);
        let texts = passage_texts(question, passages, &titles, until).await?;
        for texts in texts.chunks(BATCH) {
            let graded = until.run(self.evaluator.relevance(question, texts)).await;
            let scores = graded.map_err(out_of_time)?.map_err(failed)?;
            relevant = scores.into_iter().fold(relevant, f64::max);
            let graded = until.run(self.evaluator.best_sentences(question, texts)).await;
            let sentences = graded.map_err(out_of_time)?.map_err(failed)?;
            // Sentences come best first, so the first that is not said yet is the best of those.
            let own: Vec<(String, f64)> = sentences
                .iter()
                .map(|sentence| (text_of(texts, sentence).to_owned(), sentence.probability))
                .collect();
            let said = Arc::clone(&said);
            let bytes = own.iter().map(|(text, _)| text.len()).sum();
            let first = move || own.into_iter().find(|(text, _)| !said.says(text));
            let left = until
                .run(Turns::shared().piece(bytes, first))
                .await
                .map_err(out_of_time)?;
            unsaid = left
                .map_err(broken_off)?
                .map_or(unsaid, |(_, probability)| unsaid.max(probability));
        }
        let yes = facts * (1.0 - relevant) * (1.0 - useful);
        Ok(Retrieval {
            yes,
            continues: (1.0 - yes) * unsaid,
        })
    }
}

/// Passages as the evaluator takes them, for a question and with a title for each.
async fn passage_texts<'a>(
    question: &str,
    passages: &'a [Passage],
    titles: &'a [Cow<'a, str>],
    until: Deadline,
) -> Result<Vec<PassageText<'a>>, Ungraded> {
    let sources = passages.iter().map(|passage| passage.source.as_str());
    let unnamed = until.run(unnamed(question, sources)).await;
    let unnamed = unnamed.map_err(|_| Ungraded::OutOfTime)?.map_err(failed)?;
    let texts = passages.iter().zip(titles).zip(unnamed).enumerate();
    let texts = texts.map(|(rank, ((passage, title), unnamed))| PassageText {
        title,
        text: &passage.text,
        rank,
        unnamed,
    });
    Ok(texts.collect())
}

fn text_of<'a>(texts: &[PassageText<'a>], sentence: &SentenceScore) -> &'a str {
    texts
        .get(sentence.passage)
        .and_then(|passage| passage.text.get(sentence.range.clone()))
        .unwrap_or_default()
}

impl Backend for EmbeddedBackend {
    fn thresholds(&self) -> Thresholds {
        let calibrated = self.evaluator.thresholds();
        Thresholds {
            relevance: calibrated.relevant,
            upper: calibrated.upper,
            lower: calibrated.lower,
            strip: calibrated.strip,
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
        passages: &'a [Passage],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Grade<Usefulness>>> {
        self.usefulness_of(question, answer, passages, scope)
            .map(Graded::free)
            .boxed()
    }

    fn strips<'a>(
        &'a self,
        question: &'a str,
        passages: &'a [Strips<'a>],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Vec<Grade<f64>>>> {
        self.strips_of(question, passages, scope).map(Graded::free).boxed()
    }

    fn retrieval<'a>(
        &'a self,
        question: &'a str,
        answer_so_far: &'a str,
        passages: &'a [Passage],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Grade<Retrieval>>> {
        self.retrieval_of(question, answer_so_far, passages, scope)
            .map(|retrieval| Graded::free(retrieval.into()))
            .boxed()
    }
}

fn broken_off(error: BrokenOff) -> Ungraded {
    failed(error.into())
}

fn failed(error: EvaluateError) -> Ungraded {
    tracing::warn!(%error, "the evaluator failed");
    Ungraded::Failed(error_chain(&error))
}

fn missing<T>() -> Grade<T> {
    Grade::Ungraded(Ungraded::Failed("the evaluator returned too few scores".to_owned()))
}

//! What came of a question, and whether that was a good outcome.

pub mod interval;
pub mod metrics;
mod text;

use std::time::Duration;

use emend_proto::v1::{GradedPassage, Origin, Sentence, WalkResult, WalkStatus};
use serde::Serialize;
use tonic::Status;

use super::data::{AnswerType, Case, Expect};

/// Least F1 with a right answer of an answer to a question for a long one.
const MIN_LONG_F1: f64 = 0.5;

/// How a walk ended, or that it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// Graded and passed.
    Answered,
    /// The best answer so far.
    Unverified,
    /// From the model alone.
    Ungrounded,
    /// The evidence does not answer the question.
    Abstained,
    /// No result.
    Error,
}

impl Ending {
    /// All five, from the best sign to the worst.
    pub const ALL: [Self; 5] = [
        Self::Answered,
        Self::Unverified,
        Self::Ungrounded,
        Self::Abstained,
        Self::Error,
    ];

    /// As the JSON words it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Unverified => "unverified",
            Self::Ungrounded => "ungrounded",
            Self::Abstained => "abstained",
            Self::Error => "error",
        }
    }

    fn of(result: &WalkResult) -> Self {
        match result.status() {
            WalkStatus::Answered => Self::Answered,
            WalkStatus::Unverified => Self::Unverified,
            WalkStatus::Ungrounded => Self::Ungrounded,
            WalkStatus::Abstained => Self::Abstained,
            WalkStatus::Failed | WalkStatus::Unspecified => Self::Error,
        }
    }
}

/// One question's trip through one graph, judged. As JSON it is a line of `--out`: the question with all that its file
/// says of it, and these fields.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Walk<'a> {
    /// The question.
    #[serde(flatten)]
    pub case: &'a Case,
    /// Graph that was walked.
    pub graph: &'a str,
    /// How it ended.
    pub status: Ending,
    /// The answer; empty when it failed.
    pub answer: String,
    /// A right answer to a question that has one, an abstention from one that has none.
    pub correct: bool,
    /// The answer contains a right one. One to a question for a long answer may also contain a sentence that states it,
    /// or overlap it by an F1 of ½; one to a question for yes or no may quote a document that decides it. Never when
    /// abstained, nor where there is no answer to find.
    pub contains: bool,
    /// The answer is a right one but for articles, punctuation, case and width.
    pub exact: bool,
    /// Overlap of its tokens with the nearest right answer's, 0–1; 0 when abstained or failed.
    pub f1: f64,
    /// A document from the web was used.
    pub web_used: bool,
    /// Highest probability that a document of the result helps to answer; none where none was graded.
    pub relevance: Option<f64>,
    /// Probability that the answer is supported; none where it was not graded.
    pub groundedness: Option<f64>,
    /// Probability that the answer answers the question; none where it was not graded.
    pub usefulness: Option<f64>,
    /// Steps taken.
    pub steps: usize,
    /// Calls to a language model.
    pub model_calls: u32,
    /// Tokens that these read and wrote.
    pub tokens: u64,
    /// Time from the question to the result, in milliseconds.
    pub ms: f64,
    /// Why it failed.
    pub error: Option<String>,
}

/// Whether a sentence rests on one of the documents.
fn cites(sentences: &[Sentence], documents: &[GradedPassage], wanted: &[String]) -> bool {
    let cited = sentences.iter().flat_map(|sentence| &sentence.citations);
    cited
        .filter_map(|citation| documents.get(usize::try_from(citation.number).ok()?.checked_sub(1)?))
        .filter_map(|document| document.passage.as_ref())
        .any(|passage| wanted.contains(&passage.document_id))
}

impl<'a> Walk<'a> {
    /// Judges what came of a question.
    #[must_use]
    pub fn judge(case: &'a Case, graph: &'a str, outcome: Result<WalkResult, Status>, took: Duration) -> Self {
        let mut walk = Self {
            case,
            graph,
            status: Ending::Error,
            answer: String::new(),
            correct: false,
            contains: false,
            exact: false,
            f1: 0.0,
            web_used: false,
            relevance: None,
            groundedness: None,
            usefulness: None,
            steps: 0,
            model_calls: 0,
            tokens: 0,
            ms: took.as_secs_f64() * 1000.0,
            error: None,
        };
        let result = match outcome {
            Ok(result) => result,
            Err(status) => {
                walk.error = Some(format!("{:?}: {}", status.code(), status.message()));
                return walk;
            }
        };
        walk.status = Ending::of(&result);
        if walk.status == Ending::Error {
            walk.error = Some(match &result.failure {
                Some(failure) => format!("{}: {}: {}", failure.code, failure.service, failure.cause),
                None => "the result has no status".to_owned(),
            });
            return walk;
        }
        walk.web_used = result.documents.iter().any(|document| {
            let passage = document.passage.as_ref();
            passage.is_some_and(|passage| passage.origin() == Origin::Web)
        });
        walk.relevance = result
            .documents
            .iter()
            .filter_map(|document| document.score)
            .max_by(f64::total_cmp);
        (walk.groundedness, walk.usefulness) = (result.groundedness, result.usefulness);
        walk.steps = result.steps.len();
        let usage = result.usage.unwrap_or_default();
        walk.model_calls = usage.model_calls;
        walk.tokens = usage.input_tokens + usage.output_tokens;
        walk.answer.clone_from(&result.answer);
        let abstained = walk.status == Ending::Abstained;
        if case.expect.has_answer() && !abstained {
            walk.exact = text::exact(&walk.answer, &case.answers, &case.lang);
            walk.f1 = text::f1(&walk.answer, &case.answers, &case.lang);
            let contains = |answers: &[String]| text::contains(&walk.answer, answers);
            walk.contains = contains(&case.answers)
                || match case.answer_type {
                    AnswerType::Span | AnswerType::None => false,
                    AnswerType::Long => contains(&case.gold_sentences) || walk.f1 >= MIN_LONG_F1,
                    AnswerType::YesNo => cites(&result.sentences, &result.documents, &case.gold_doc_ids),
                };
        }
        walk.correct = match case.expect {
            Expect::Local | Expect::Web => walk.contains,
            Expect::None | Expect::Absent => abstained,
        };
        walk
    }
}

#[cfg(test)]
pub(crate) mod tests;

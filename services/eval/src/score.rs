//! What came of a question, and whether that was a good outcome.

pub mod interval;
pub mod metrics;
mod text;

use std::time::Duration;

use emend_proto::v1::{Origin, WalkResult, WalkStatus};
use serde::Serialize;
use tonic::Status;

use super::data::{Case, Expect};

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
    /// The answer contains a right one; never when abstained, nor where there is none to find.
    pub contains: bool,
    /// The answer is a right one but for articles, punctuation, case and width.
    pub exact: bool,
    /// Overlap of its tokens with the nearest right answer's, 0–1; 0 when abstained or failed.
    pub f1: f64,
    /// A document from the web was used.
    pub web_used: bool,
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
        walk.steps = result.steps.len();
        let usage = result.usage.unwrap_or_default();
        walk.model_calls = usage.model_calls;
        walk.tokens = usage.input_tokens + usage.output_tokens;
        walk.answer = result.answer;
        let abstained = walk.status == Ending::Abstained;
        if case.expect.has_answer() && !abstained {
            walk.contains = text::contains(&walk.answer, &case.answers);
            walk.exact = text::exact(&walk.answer, &case.answers, &case.lang);
            walk.f1 = text::f1(&walk.answer, &case.answers, &case.lang);
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

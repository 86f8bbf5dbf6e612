//! What came of a question, and whether that was a good outcome.

pub(super) mod interval;
pub(super) mod metrics;
pub(super) mod text;

use std::time::Duration;

use emend_proto::v1::{Origin, WalkResult, WalkStatus};
use serde::Serialize;
use tonic::Status;

use super::data::{Case, Expect};

/// How a walk ended, or that it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Ending {
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
    pub(super) const ALL: [Self; 5] = [
        Self::Answered,
        Self::Unverified,
        Self::Ungrounded,
        Self::Abstained,
        Self::Error,
    ];

    /// As the JSON words it.
    #[must_use]
    pub(super) fn name(self) -> &'static str {
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
            WalkStatus::Unspecified => Self::Error,
        }
    }
}

/// One question's trip through one graph, judged. As JSON it is a line of `--out`: the question with all that its file
/// says of it, and these fields.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Walk<'a> {
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
    pub(super) fn judge(case: &'a Case, graph: &'a str, outcome: Result<WalkResult, Status>, took: Duration) -> Self {
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
            walk.error = Some("the result has no status".to_owned());
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
pub(super) mod tests {
    use emend_proto::v1::{GradedPassage, Passage, Step, Usage};

    use super::*;

    /// A question of a set `made-up`.
    pub(in crate::eval) fn case(id: &str, lang: &str, expect: Expect, answers: &[&str]) -> Case {
        Case {
            set: "made-up".to_owned(),
            id: id.to_owned(),
            lang: lang.to_owned(),
            question: format!("{id}?"),
            answers: answers.iter().map(|&text| text.to_owned()).collect(),
            gold_doc_ids: Vec::new(),
            expect,
        }
    }

    /// A result of `steps` steps.
    pub(in crate::eval) fn result(status: WalkStatus, answer: &str, steps: usize) -> WalkResult {
        WalkResult {
            status: status.into(),
            answer: answer.to_owned(),
            steps: vec![Step::default(); steps],
            ..WalkResult::default()
        }
    }

    fn judged(case: &Case, result: WalkResult) -> Walk<'_> {
        Walk::judge(case, "graph", Ok(result), Duration::from_millis(250))
    }

    #[test]
    fn a_right_answer_is_right_however_the_walk_ended() {
        let local = case("q", "en", Expect::Local, &["Ansgar Lund"]);
        for status in [WalkStatus::Answered, WalkStatus::Unverified, WalkStatus::Ungrounded] {
            let walk = judged(&local, result(status, "It was ansgar  lund.", 3));
            assert!(
                walk.correct && walk.contains && !walk.exact && walk.f1 > 0.6,
                "{walk:?}"
            );
            assert_eq!((walk.steps, walk.ms), (3, 250.0));
        }
        assert!(!judged(&local, result(WalkStatus::Answered, "nobody", 1)).correct);
        let abstained = judged(&local, result(WalkStatus::Abstained, "Ansgar Lund is not there", 1));
        assert!(!abstained.correct && !abstained.contains && abstained.f1 == 0.0);
    }

    #[test]
    fn abstaining_is_right_only_where_there_is_no_answer() {
        for expect in [Expect::None, Expect::Absent] {
            let nowhere = case("q", "en", expect, &["25"]);
            assert!(judged(&nowhere, result(WalkStatus::Abstained, "no", 1)).correct);
            let lucky = judged(&nowhere, result(WalkStatus::Answered, "25", 1));
            assert!(!lucky.correct && !lucky.contains && !lucky.exact && lucky.f1 == 0.0);
        }
    }

    #[test]
    fn what_a_walk_used_is_counted() {
        let web = case("q", "en", Expect::Web, &["x"]);
        let mut found = result(WalkStatus::Answered, "x", 2);
        let passage = Passage {
            origin: Origin::Web.into(),
            ..Passage::default()
        };
        found.documents = vec![GradedPassage {
            passage: Some(passage),
            ..GradedPassage::default()
        }];
        found.usage = Some(Usage {
            model_calls: 2,
            input_tokens: 30,
            output_tokens: 12,
        });
        let walk = judged(&web, found);
        assert!(walk.web_used && walk.exact);
        assert_eq!((walk.model_calls, walk.tokens), (2, 42));
    }

    #[test]
    fn a_failure_says_why() {
        let local = case("q", "en", Expect::Local, &["x"]);
        let failed = Walk::judge(&local, "graph", Err(Status::unavailable("gone")), Duration::ZERO);
        assert_eq!(failed.error.as_deref(), Some("Unavailable: gone"));
        assert_eq!(failed.status, Ending::Error);
        let empty = judged(&local, WalkResult::default());
        assert!(empty.status == Ending::Error && empty.error.is_some());
    }
}

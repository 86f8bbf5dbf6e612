//! What counts as a good outcome, and the sums of it.

use std::collections::BTreeMap;

use emend_proto::v1::{Origin, WalkResult, WalkStatus};
use serde::Serialize;
use unicode_normalization::UnicodeNormalization as _;

use super::data::{Case, Expect};

/// Sums over the questions of one kind. Shares are counts over `questions`.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Tally {
    /// Questions asked.
    pub questions: u32,
    /// The walk ended in ANSWERED.
    pub answered: u32,
    /// The walk ended in UNVERIFIED or UNGROUNDED.
    pub unverified: u32,
    /// The walk ended in ABSTAINED.
    pub abstained: u32,
    /// The answer contains one of the right answers.
    pub contains: u32,
    /// A right answer where there is one, an abstention where there is none.
    pub correct: u32,
    /// A document from the web was used.
    pub web: u32,
    /// The walk failed with an error.
    pub errors: u32,
    /// Steps of all walks.
    pub steps: u32,
}

impl Tally {
    /// Adds one walk's result; `None` is an error.
    pub(super) fn add(&mut self, case: &Case, result: Option<&WalkResult>) {
        self.questions += 1;
        let Some(result) = result else {
            self.errors += 1;
            return;
        };
        let abstained = result.status() == WalkStatus::Abstained;
        let contains = !abstained && contains_answer(&result.answer, &case.answers);
        self.steps += u32::try_from(result.steps.len()).unwrap_or(u32::MAX);
        self.answered += u32::from(result.status() == WalkStatus::Answered);
        self.unverified += u32::from(matches!(
            result.status(),
            WalkStatus::Unverified | WalkStatus::Ungrounded
        ));
        self.abstained += u32::from(abstained);
        self.contains += u32::from(contains);
        self.web += u32::from(result.documents.iter().any(|document| {
            document
                .passage
                .as_ref()
                .is_some_and(|passage| passage.origin() == Origin::Web)
        }));
        self.correct += u32::from(match case.expect {
            Expect::Local | Expect::Web => contains,
            Expect::None | Expect::Absent => abstained,
        });
    }

    fn plus(mut self, other: &Self) -> Self {
        self.questions += other.questions;
        self.answered += other.answered;
        self.unverified += other.unverified;
        self.abstained += other.abstained;
        self.contains += other.contains;
        self.correct += other.correct;
        self.web += other.web;
        self.errors += other.errors;
        self.steps += other.steps;
        self
    }
}

/// The sum over all kinds.
#[must_use]
pub(super) fn total(tallies: &BTreeMap<&'static str, Tally>) -> Tally {
    tallies.values().fold(Tally::default(), Tally::plus)
}

/// Whether `answer` contains one of `answers`, whatever the case and width of the letters and the spaces between.
#[must_use]
pub(super) fn contains_answer(answer: &str, answers: &[String]) -> bool {
    let answer = folded(answer);
    answers
        .iter()
        .map(|right| folded(right))
        .any(|right| !right.is_empty() && answer.contains(&right))
}

fn folded(text: &str) -> String {
    let text: String = text.nfkc().flat_map(char::to_lowercase).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(expect: Expect, answers: &[&str]) -> Case {
        Case {
            question: "q".to_owned(),
            answers: answers.iter().map(|&text| text.to_owned()).collect(),
            gold_doc_ids: Vec::new(),
            expect,
        }
    }

    fn result(status: WalkStatus, answer: &str) -> WalkResult {
        WalkResult {
            status: status.into(),
            answer: answer.to_owned(),
            ..WalkResult::default()
        }
    }

    #[test]
    fn width_case_and_spaces_do_not_matter() {
        assert!(contains_answer(
            "In the ＹＥＡＲ  1999 it was",
            &["year 1999".to_owned()]
        ));
        assert!(!contains_answer("nothing", &["something".to_owned(), String::new()]));
    }

    #[test]
    fn abstaining_is_right_only_where_there_is_no_answer() {
        let mut tally = Tally::default();
        tally.add(&case(Expect::None, &[]), Some(&result(WalkStatus::Abstained, "no")));
        tally.add(
            &case(Expect::Local, &["no"]),
            Some(&result(WalkStatus::Abstained, "no")),
        );
        tally.add(&case(Expect::Absent, &[]), Some(&result(WalkStatus::Answered, "x")));
        tally.add(
            &case(Expect::Web, &["x"]),
            Some(&result(WalkStatus::Unverified, "it is x")),
        );
        tally.add(&case(Expect::Web, &["x"]), None);
        assert_eq!(
            (
                tally.questions,
                tally.correct,
                tally.abstained,
                tally.contains,
                tally.errors
            ),
            (5, 2, 2, 1, 1)
        );
    }
}

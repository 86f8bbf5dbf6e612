use emend_proto::v1::{Citation, GradedPassage, Passage, Step, Usage};

use super::*;

/// A question of a set `made-up`.
pub(crate) fn case(id: &str, lang: &str, expect: Expect, answers: &[&str]) -> Case {
    Case {
        set: "made-up".to_owned(),
        id: id.to_owned(),
        lang: lang.to_owned(),
        question: format!("{id}?"),
        answers: answers.iter().map(|&text| text.to_owned()).collect(),
        expect,
        ..Case::default()
    }
}

/// A result of `steps` steps.
pub(crate) fn result(status: WalkStatus, answer: &str, steps: usize) -> WalkResult {
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

#[test]
fn a_sentence_that_states_a_long_answer_is_right_and_so_is_half_of_its_words() {
    let mut case = case(
        "why",
        "en",
        Expect::Local,
        &["The boiler was moved because the cellar floods."],
    );
    case.answer_type = AnswerType::Long;
    case.gold_sentences = vec!["It stands upstairs since the flood of 2019.".to_owned()];
    let contains = |answer: &str| judged(&case, result(WalkStatus::Answered, answer, 1)).contains;
    assert!(contains("It stands upstairs since the flood of 2019. It is new."));
    assert!(contains("The boiler was moved since the cellar floods often."));
    assert!(!contains("The boiler is new."));
    case.answer_type = AnswerType::Span;
    assert!(
        !judged(
            &case,
            result(WalkStatus::Answered, "It stands upstairs since the flood of 2019.", 1)
        )
        .contains
    );
}

#[test]
fn an_answer_that_quotes_the_document_that_decides_is_right_for_yes_or_no() {
    let mut case = case("is it", "ko", Expect::Local, &["예"]);
    case.answer_type = AnswerType::YesNo;
    case.gold_doc_ids = vec!["boiler".to_owned()];
    let quoting = |document: &str| {
        let mut result = result(WalkStatus::Answered, "보일러는 2019년에 설치되었다.", 1);
        result.documents = ["garden", document].map(graded).into();
        result.sentences = vec![Sentence {
            citations: vec![Citation {
                number: 2,
                ..Citation::default()
            }],
            ..Sentence::default()
        }];
        result
    };
    assert!(judged(&case, quoting("boiler")).contains);
    assert!(!judged(&case, quoting("cellar")).contains);
}

fn graded(document: &str) -> GradedPassage {
    GradedPassage {
        passage: Some(Passage {
            document_id: document.to_owned(),
            ..Passage::default()
        }),
        ..GradedPassage::default()
    }
}

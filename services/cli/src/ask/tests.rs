use super::*;

#[test]
fn an_answer_in_doubt_is_shown_before_the_question_is_asked_again() {
    let mut result = WalkResult {
        status: WalkStatus::Unverified.into(),
        answer: "25 days.".to_owned(),
        reason: "usefulness was low".to_owned(),
        ..WalkResult::default()
    };
    let said = in_doubt(&result);
    assert!(said.starts_with("\n25 days.\n"), "{said}");
    assert!(
        said.contains("unverified") && said.contains("usefulness was low"),
        "{said}"
    );
    assert!(said.ends_with("the question is asked again when all is."), "{said}");
    // An abstention says nothing yet.
    result.set_status(WalkStatus::Abstained);
    result.answer = "The documents do not say.".to_owned();
    assert_eq!(in_doubt(&result).lines().count(), 1);
}

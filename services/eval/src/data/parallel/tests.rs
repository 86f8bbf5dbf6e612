use serde_json::json;

use super::*;

fn parallel() -> ParallelCase {
    serde_json::from_value(json!({
        "id": "q",
        "question": {"en": "How tall is the tower?", "zh": "塔有多高？"},
        "answers": {"en": ["30 metres"], "zh": ["三十米"]},
        "gold_doc_ids": {"en": ["tower-en"], "zh": ["tower-zh"]},
        "expect": "local",
    }))
    .unwrap()
}

#[test]
fn a_question_is_asked_of_documents_in_another_language() {
    let case = parallel().across("zh", "en").unwrap();
    assert_eq!((case.lang.as_str(), case.question.as_str()), ("zh", "塔有多高？"));
    assert_eq!(case.answers, ["30 metres", "三十米"]);
    assert_eq!(case.gold_doc_ids, ["tower-en"]);
    assert_eq!(parallel().across("en", "en").unwrap().answers, ["30 metres"]);
}

#[test]
fn a_question_that_a_language_lacks_is_left_out_there() {
    assert!(parallel().across("ko", "en").is_none());
    assert!(parallel().across("en", "ko").is_none());
}

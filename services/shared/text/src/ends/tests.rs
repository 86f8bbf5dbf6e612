use super::*;

#[test]
fn a_sentence_ends_with_a_terminator_and_closing_marks() {
    for text in [
        "It is so.",
        "He said \"no.\"",
        "(It is.)  ",
        "그렇다.",
        "そうです。",
        "他说：「是。」",
        "Really?!",
        "**Yes.**",
        "هل؟",
    ] {
        assert!(ends_sentence(text), "{text}");
    }
    for text in ["", "25", "Ansgar Lund", "a heading:", "[1]", "「見出し」"] {
        assert!(!ends_sentence(text), "{text}");
    }
}

#[test]
fn a_question_ends_with_a_question_mark() {
    for text in ["Who?", "谁？", "(What?)", "\"Why?\""] {
        assert!(ends_question(text), "{text}");
    }
    assert!(!ends_question("Because."));
}

#[test]
fn sentences_are_separated_by_a_space_if_their_script_has_one() {
    assert_eq!(sentence_separator("", "One."), "");
    assert_eq!(sentence_separator("One.", "Two."), " ");
    assert_eq!(sentence_separator("One. ", "Two."), "");
    assert_eq!(sentence_separator("이다.", "그렇다."), " ");
    assert_eq!(sentence_separator("そうです。", "次です。"), "");
    assert_eq!(sentence_separator("年假", "有几天"), "");
}

use super::*;

#[test]
fn small_talk_and_tasks_ask_for_no_facts() {
    for text in [
        "Hello!",
        "Thank you very much.",
        "Please translate \"good night\" into French",
        "안녕하세요!",
        "이 문장을 영어로 번역해 주세요.",
        "ありがとうございます。",
        "你好！",
    ] {
        assert_eq!(facts(text), CHATS, "{text}");
    }
    for text in [
        "How tall is the lighthouse?",
        "Hello, how tall is the lighthouse?",
        "Who translated the book?",
        "등대의 높이는?",
        "灯台の高さは？",
        "灯塔有多高？",
        "lighthouse height",
    ] {
        assert_eq!(facts(text), ASKS, "{text}");
    }
}

#[test]
fn a_sentence_is_said_when_most_of_its_words_are() {
    let said = Said::new("The lighthouse of Corran Point is 31 metres tall.");
    assert!(said.says("The lighthouse is 31 metres tall and red."));
    assert!(!said.says("It was painted red in 1904."));
    assert!(!Said::new("").says("It was painted red in 1904."));
    let said = Said::new("등대의 높이는 31미터이다.");
    assert!(said.says("등대의 높이는 31미터이다.") && !said.says("1904년에 빨갛게 칠했다."));
}

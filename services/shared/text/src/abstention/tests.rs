use super::*;

#[test]
fn abstentions_are_detected() {
    for text in [
        "I don’t know.",
        "The documents do not answer this question.",
        "문서에서 답을 찾을 수 없습니다.",
        "分かりません。",
        "我不知道。",
        " ",
    ] {
        assert!(is_abstention(text), "{text}");
    }
    for text in ["It was built in 1901.", "보일러는 2019년에 설치되었다.", "He said no."] {
        assert!(!is_abstention(text), "{text}");
    }
    let long = format!(
        "{} It is told that people did not know why: I don't know, said one of them.",
        "The tower was built in 1901. ".repeat(5)
    );
    assert!(!is_abstention(&long));
}

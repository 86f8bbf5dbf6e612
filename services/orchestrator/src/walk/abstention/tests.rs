use super::abstention;

#[test]
fn it_speaks_the_language_of_the_question() {
    assert!(abstention("등대는 언제 지어졌나요?").contains("없습니다"));
    assert!(abstention("灯台はいつ建てられましたか?").contains("ありません"));
    assert!(abstention("灯塔是哪一年建的?").contains("没有"));
    assert!(abstention("When was the lighthouse built?").contains("do not answer"));
}

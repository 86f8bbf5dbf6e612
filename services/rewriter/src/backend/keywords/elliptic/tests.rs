use emend_text::language;

use super::*;

#[test]
fn elliptic_questions_are_detected() {
    for (question, expected) in [
        ("Opening hours?", true),
        ("Who is the author?", true),
        ("What was the price?", true),
        ("How high?", true),
        ("Which year?", true),
        ("Busan?", true),
        ("What is photosynthesis?", false),
        ("Who wrote Dustland?", false),
        ("Who invented penicillin?", false),
        ("What causes rain?", false),
        ("What is the price of tea?", false),
        ("Explain photosynthesis", false),
        ("Was ist Photosynthese?", false),
        ("언제 지어졌나요?", true),
        ("누가 설계했나요?", true),
        ("높이가 얼마인가요?", true),
        ("높이?", true),
        ("서울은 어디에 있나요?", false),
        ("광합성이란 무엇인가요?", false),
        ("한국의 수도는 어디인가요?", false),
        ("いつ建てられましたか", true),
        ("誰が設計しましたか？", true),
        ("高さはどのくらいですか", true),
        ("光合成とは何ですか", false),
        ("東京タワーはいつ建てられましたか", false),
        ("什么时候建成的？", true),
        ("誰設計的？", true),
        ("高度是多少？", true),
        ("上海在哪里？", false),
        ("谁发明了电话？", false),
    ] {
        assert_eq!(is_elliptic(question, language(question)), expected, "{question}");
    }
}

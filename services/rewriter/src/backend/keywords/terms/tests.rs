use super::*;

fn of(text: &str) -> Vec<String> {
    terms(text).into_iter().map(|term| term.text).collect()
}

fn kinds(text: &str) -> Vec<(String, Kind)> {
    terms(text).into_iter().map(|term| (term.text, term.kind)).collect()
}

#[test]
fn english_terms_are_names_numbers_and_content_words() {
    for (text, expected) in [
        (
            "When was the boiler in the old mill installed?",
            vec!["boiler", "old", "mill", "installed"],
        ),
        (
            "Who painted the ceiling of the Sistine Chapel?",
            vec!["painted", "ceiling", "Sistine Chapel"],
        ),
        (
            "How tall is the Statue of Liberty's torch?",
            vec!["tall", "Statue of Liberty", "torch"],
        ),
        (
            "Did Apollo 11 carry 3.5 kg of C++ code in 1969?",
            vec!["Apollo 11", "carry", "3.5", "kg", "C++", "code", "1969"],
        ),
        (
            "Explain the \"law of large numbers\" please",
            vec!["law of large numbers"],
        ),
        (
            "Who led Tarik al-Mansur's army?",
            vec!["led", "Tarik al-Mansur", "army"],
        ),
        (
            "Who sang 'Blue Rain' at the players' ball?",
            vec!["sang", "Blue Rain", "players", "ball"],
        ),
        ("the of and", vec![]),
    ] {
        assert_eq!(of(text), expected, "{text}");
    }
}

#[test]
fn kinds_of_terms_are_detected() {
    let found = kinds("Was \"Blue Rain\" sung by Nina Holt in 1984 on stage?");
    let expected = [
        ("Blue Rain", Kind::Quoted),
        ("sung", Kind::Word),
        ("Nina Holt", Kind::Name),
        ("1984", Kind::Number),
        ("stage", Kind::Word),
    ];
    assert_eq!(found, expected.map(|(text, kind)| (text.to_owned(), kind)));
}

#[test]
fn names_in_different_sentences_stay_apart() {
    assert_eq!(of("He saw Paris. Rome was next."), ["saw", "Paris", "Rome", "next"]);
}

#[test]
fn korean_japanese_and_chinese_terms_have_no_particles_or_question_words() {
    for (text, expected) in [
        (
            "보일러는 2019년에 어디에 설치되었나요?",
            vec!["보일러", "2019년", "설치"],
        ),
        (
            "NASA가 만든 『푸른 별』의 작가는 누구인가요?",
            vec!["NASA", "만든", "푸른 별", "작가"],
        ),
        (
            "'푸른 별'은 19시간 만에 2억 명이 보았는가?",
            vec!["푸른 별", "19시간", "만에", "2억", "명이"],
        ),
        ("東京タワーは何年に建てられましたか？", vec!["東京タワー", "建"]),
        (
            "レオナルド・ダ・ヴィンチの「最後の晩餐」はどこにありますか",
            vec!["レオナルド・ダ・ヴィンチ", "最後の晩餐"],
        ),
        ("埃菲尔铁塔是什么时候建成的？", vec!["埃菲尔铁塔", "建成"]),
        ("臺北的人口有多少？", vec!["臺北", "人口"]),
    ] {
        assert_eq!(of(text), expected, "{text}");
    }
}

#[test]
fn any_text_is_read() {
    for text in [
        "",
        "?",
        "\"",
        "「",
        "a’",
        "-",
        "𠮷野家",
        "e\u{301}",
        "１２３",
        "a\u{0}b",
    ] {
        drop(terms(text));
    }
}

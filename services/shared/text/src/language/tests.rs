use super::*;

#[test]
fn the_language_of_short_questions_is_detected() {
    for (text, code) in [
        ("What is the capital of France?", "en"),
        ("who wrote it", "en"),
        ("Boiler?", "en"),
        ("", "en"),
        ("12345", "en"),
        ("에펠탑은 언제 세워졌나요?", "ko"),
        ("API란?", "ko"),
        ("Kubernetes의 HPA는 무엇인가?", "ko"),
        ("大韓民國의 수도는?", "ko"),
        ("東京の人口は？", "ja"),
        ("共産党の党員は何人か", "ja"),
        ("JR東日本の本社はどこ？", "ja"),
        ("谁是第一任总统？", "zh"),
        ("誰是第一任總統?", "zh-Hant"),
        ("北京在哪里", "zh"),
        ("Kubernetes是什么？", "zh"),
        ("Wer hat das Buch geschrieben?", "de"),
        ("Où est la gare ?", "fr"),
        ("¿Dónde está el museo?", "es"),
        ("Когда была построена башня?", "ru"),
        ("Dov'è il museo della città?", "it"),
        ("What does 你好 mean?", "en"),
        ("What is 北京大学?", "en"),
        ("What is Love는 누구의 노래인가?", "ko"),
    ] {
        assert_eq!(language(text).code(), code, "{text}");
    }
}

#[test]
fn codes_round_trip() {
    for language in Language::ALL {
        assert_eq!(Language::from_code(language.code()), Some(language));
        assert!(!language.abstention().is_empty() && !language.name().is_empty());
    }
    assert_eq!(Language::from_code("de-AT"), Some(Language::Other("de")));
    assert_eq!(Language::from_code("tlh"), None);
}

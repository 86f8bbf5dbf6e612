use super::*;

#[test]
fn abstentions_are_detected() {
    for text in [
        "I don’t know.",
        "The documents do not answer this question.",
        "문서에서 답을 찾을 수 없습니다.",
        "分かりません。",
        "我不知道。",
        "Die Frage lässt sich mit den Unterlagen nicht beantworten.",
        "Les documents ne contiennent pas cette information.",
        " ",
    ] {
        assert!(is_abstention(text), "{text}");
    }
    for text in [
        "It was built in 1901.",
        "보일러는 2019년에 설치되었다.",
        "He said no.",
        "Nein, das Boot ist nicht versichert.",
        "Anfragen werden am Wochenende nicht beantwortet.",
        "Les biscuits ne contiennent pas de noix.",
        "Las oficinas no responden a llamadas los domingos.",
    ] {
        assert!(!is_abstention(text), "{text}");
    }
    let long = format!(
        "{} It is told that people did not know why: I don't know, said one of them.",
        "The tower was built in 1901. ".repeat(5)
    );
    assert!(!is_abstention(&long));
}

#[test]
fn each_language_abstains_in_its_own_words_and_is_understood() {
    let mut phrases = std::collections::HashSet::new();
    for abstention in Language::abstentions() {
        assert!(is_abstention(abstention), "{abstention}");
        assert!(phrases.insert(abstention), "{abstention}: said in two languages");
    }
    for (question, abstention) in [
        (
            "¿Cuándo abre el museo los domingos?",
            "Los documentos no responden a esta pregunta.",
        ),
        (
            "Wann öffnet das Museum am Sonntag?",
            "Die Dokumente beantworten diese Frage nicht.",
        ),
        (
            "Когда открывается музей в воскресенье?",
            "В документах нет ответа на этот вопрос.",
        ),
    ] {
        assert_eq!(crate::language(question).abstention(), abstention);
    }
}

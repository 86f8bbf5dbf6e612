use super::*;

#[test]
fn follow_ups_are_detected() {
    for (question, expected) in [
        ("When was it built?", Some(Reference::Other)),
        ("Where was she born?", Some(Reference::Person)),
        ("What about Busan?", Some(Reference::Other)),
        ("Why?", Some(Reference::Other)),
        ("Who paid for that?", Some(Reference::Other)),
        ("How do I get there?", Some(Reference::Other)),
        ("What is the capital of France?", None),
        ("How long does it take to fly to Rome?", None),
        ("Which river is the one that flows through Vienna?", None),
        ("Is there a museum in Lyon?", None),
        ("Why did Apple sell its first factory?", None),
        ("What happens to water when it freezes?", None),
        ("Did Keller build it in Velland?", Some(Reference::Other)),
        ("What did Nina Holt write before she left Velland?", None),
        ("Who won the rowing cup this year?", None),
        ("And who wrote it?", Some(Reference::Other)),
        ("What else did the museum buy in Lyon?", Some(Reference::Other)),
        ("Opening hours?", Some(Reference::Other)),
        ("서울과 그 주변의 인구는 얼마인가요?", None),
        ("그는 언제 태어났나요?", Some(Reference::Other)),
        ("東京タワーとその周辺には何がありますか", None),
        ("그리고 누가 썼나요?", Some(Reference::Other)),
        ("誰が書きましたか", Some(Reference::Other)),
        ("她是在哪里出生的？", Some(Reference::Other)),
        ("這是什麼時候寫的？", Some(Reference::Other)),
        ("浙江省及其周边有哪些城市？", None),
        ("그것은 언제 지어졌나요?", Some(Reference::Other)),
        ("부산은요?", Some(Reference::Other)),
        ("부산의 인구는 얼마인가요?", None),
        ("それはいつ建てられましたか", Some(Reference::Other)),
        ("京都は？", Some(Reference::Other)),
        ("京都の人口はどのくらいですか", None),
        ("它是什么时候建成的？", Some(Reference::Other)),
        ("上海呢？", Some(Reference::Other)),
        ("土耳其的首都是哪里？", None),
        ("其他城市的人口是多少？", None),
    ] {
        assert_eq!(reference(question), expected, "{question}");
    }
}

#[test]
fn openers_are_cut() {
    for (question, rest) in [
        ("What about Busan?", "Busan?"),
        ("And Busan?", "Busan?"),
        ("Andorra?", "Andorra?"),
        ("and", "and"),
    ] {
        assert_eq!(without_opener(question), rest);
    }
}

use super::*;

#[test]
fn particles_and_endings_are_stripped() {
    for (word, expected) in [
        ("서울은", Some("서울")),
        ("인구는", Some("인구")),
        ("학교에서", Some("학교")),
        ("박물관으로", Some("박물관")),
        ("전문가", Some("전문가")),
        ("국가", Some("국가")),
        ("나이", Some("나이")),
        ("건설했습니까", Some("건설")),
        ("수도인가요", Some("수도")),
        ("무엇인가요", None),
        ("언제부터", None),
        ("왜", None),
        ("인가요", None),
        ("참여하는가", Some("참여")),
    ] {
        assert_eq!(content(word), expected, "{word}");
    }
}

#[test]
fn numbers_keep_their_counter() {
    for (word, expected) in [
        ("년에", Some("년")),
        ("시간", Some("시간")),
        ("억", Some("억")),
        ("킬로미터를", Some("킬로미터")),
        ("은", None),
        ("입니까", None),
    ] {
        assert_eq!(unit(word), expected, "{word}");
    }
}

use super::*;

#[test]
fn question_words_and_particles_split() {
    for (run, expected) in [
        ("长江的长度是多少", vec!["长江", "长度"]),
        ("請問故宮博物院在哪裡", vec!["故宮博物院"]),
        ("是谁发明了电话", vec!["发明了电话"]),
        ("它是什么", vec![]),
        ("加西亚·马尔克斯的小说有哪些", vec!["加西亚·马尔克斯", "小说"]),
    ] {
        assert_eq!(content(run), expected, "{run}");
    }
}

#[test]
fn a_long_phrase_can_be_split() {
    assert_eq!(split_phrase("蒸汽機車用木炭作為燃料"), ["蒸汽機車", "木炭作", "燃料"]);
    assert_eq!(split_phrase("全國鐵路聯盟"), ["全國鐵", "路聯盟"]);
    assert!(split_phrase("鐵路").is_empty());
}

use super::*;

#[test]
fn a_place_is_told_by_what_stands_around_it() {
    for (question, text, wanted) in [
        ("塔在哪里？", "塔在山顶上。", true),
        ("塔在哪里？", "塔在1902年重建。", false),
        ("塔在哪里？", "塔高三十米。", false),
        ("塔在北京哪里？", "塔在北京建成。", false),
        ("他是哪里人？", "他是绍兴县人。", true),
        ("本社はどこですか？", "本社は旧工場の4階にあります。", true),
        ("本社はどこですか？", "本社は2014年にモーエンが開設しました。", false),
        ("本社はどこですか？", "本社はトロムソへ移った。", true),
        ("本社はどこですか？", "本社は大きい。", false),
        ("본사는 어디에 있나요?", "본사는 옛 공장 4층에 있습니다.", true),
        ("본사는 어디에 있나요?", "본사는 2014년에 문을 열었습니다.", false),
        ("그는 부산 어디에서 태어났나?", "그는 부산에서 태어났다.", false),
        ("본사는 어디에 있나요?", "본사는 큽니다.", false),
    ] {
        assert_eq!(names_place(text, question), wanted, "{question} / {text}");
    }
}

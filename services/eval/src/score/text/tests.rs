use super::*;

fn answers(all: &[&str]) -> Vec<String> {
    all.iter().map(|&text| text.to_owned()).collect()
}

#[test]
fn width_case_and_spaces_do_not_matter() {
    for (answer, right) in [
        ("In the ＹＥＡＲ  1999 it was", "year 1999"),
        ("Built in １８７３.", "1873"),
        ("by ANSGAR\u{3000}LUND,\nthe engineer", "Ansgar Lund"),
        ("協定世界時を２時間進ませた", "2時間"),
        ("ﾄｰﾏｽ・ﾁｪｯｸらが発見した", "トーマス・チェック"),
        ("株式\u{3000}会社である", "株式 会社"),
        ("它建于１９３９年。", "1939年"),
        ("作者是考底利耶", "考底利耶"),
        ("등대는 ２５일 만에 지어졌다", "25일"),
        ("\u{1103}\u{1173}\u{11bc}\u{1103}\u{1162}는 높다", "등대"),
    ] {
        assert!(contains(answer, &answers(&[right])), "{answer} has {right}");
        assert!(contains(right, &answers(&[right])));
    }
    assert!(!contains("nothing", &answers(&["something", "", "\u{3000}"])));
    assert!(!contains("등대는 높다", &answers(&["등불"])));
}

#[test]
fn exact_is_blind_to_articles_and_punctuation() {
    assert!(exact("The \"Brotherhood\".", &answers(&["brotherhood"]), "en"));
    assert!(!exact("The Brotherhood", &answers(&["brotherhood"]), "de"));
    assert!(!exact("the Muslim Brotherhood", &answers(&["brotherhood"]), "en"));
    assert!(exact("１９３９ 年。", &answers(&["1939年"]), "zh"));
    assert!(exact("トーマス・チェック", &answers(&["トーマス チェック"]), "ja"));
    assert!(exact("네, 25일", &answers(&["네 25일"]), "ko"));
    assert!(!exact("the", &answers(&["a"]), "en"), "no tokens are no answer");
}

#[test]
fn f1_is_that_of_the_nearest_right_answer() {
    let f1 = |answer: &str, right: &[&str], lang: &str| f1(answer, &answers(right), lang);
    // 1 of 3 tokens of the answer, 1 of 1 of the right one.
    assert!((f1("the year was 1873", &["1873"], "en") - 0.5).abs() < 1e-12);
    assert!((f1("Ansgar Lund", &["Lund", "ansgar lund!"], "en") - 1.0).abs() < 1e-12);
    assert!(f1("rye bread", &["birch wood"], "en").abs() < 1e-12);
    // A token counts as often as both have it: 1 common of 2 and 1.
    assert!((f1("no no", &["no"], "en") - 2.0 / 3.0).abs() < 1e-12);
    // 考底利耶 is 4 of the 7 characters of the answer.
    assert!((f1("作者是考底利耶", &["考底利耶"], "zh-Hant") - 8.0 / 11.0).abs() < 1e-12);
    // A particle is one more character, not another word.
    assert!((f1("서울은", &["서울"], "ko") - 0.8).abs() < 1e-12);
    // Digits stay together: 約 2 時 間 and 2 時 間.
    assert!((f1("約２時間", &["2時間"], "ja") - 2.0 * 3.0 / 7.0).abs() < 1e-12);
    assert!(f1("", &["x"], "en").abs() < 1e-12 && f1("x", &[], "en").abs() < 1e-12);
}

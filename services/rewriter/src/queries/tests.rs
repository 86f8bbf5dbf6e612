use super::*;

#[test]
fn case_width_and_spacing_make_no_new_query() {
    let failed = Failed::new(&[
        "When was the Boiler installed?".to_owned(),
        "ボイラー 設置".to_owned(),
        String::new(),
    ]);
    for same in [
        "when was  the boiler\tinstalled",
        "ＷＨＥＮ was the boiler installed？",
        "ﾎﾞｲﾗｰ設置",
        "",
        " ?!",
    ] {
        assert!(!failed.allows(same), "{same}");
    }
    for new in ["boiler installed", "ボイラー 設置 年", "C++"] {
        assert!(failed.allows(new), "{new}");
    }
    assert_ne!(key("C++ version"), key("C version"));
}

#[test]
fn attempts_are_counted_without_the_question() {
    let failed = Failed::new(&["A b?".to_owned(), "a B".to_owned(), "c".to_owned()]);
    assert_eq!(failed.attempts("a b"), 1);
    assert_eq!(failed.attempts("z"), 2);
}

#[test]
fn long_queries_end_with_a_whole_word() {
    let long = "keyword ".repeat(200);
    let kept = shortened(&long, MAX_TOKENS);
    assert!(
        kept.ends_with("keyword") && kept.len() > 400 && kept.len() < 600,
        "{}",
        kept.len()
    );
    assert_eq!(shortened(&"水".repeat(500), MAX_TOKENS).chars().count(), MAX_TOKENS);
    assert_eq!(shortened("short query", MAX_TOKENS), "short query");
    assert_eq!(shortened("水車 小屋", 2), "水車");
    assert!(tokens(kept) <= MAX_TOKENS && tokens(kept) + 3 > MAX_TOKENS);
}

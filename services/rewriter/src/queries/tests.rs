use super::*;

#[test]
fn case_width_and_spacing_do_not_make_a_new_query() {
    let failed = FailedQueries::new(&[
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
    assert_ne!(normalized("C++ version"), normalized("C version"));
}

#[test]
fn attempts_are_counted_without_the_question() {
    let failed = FailedQueries::new(&["A b?".to_owned(), "a B".to_owned(), "c".to_owned()]);
    assert_eq!(failed.attempts("a b"), 1);
    assert_eq!(failed.attempts("z"), 2);
}

#[test]
fn long_queries_are_truncated_at_a_word() {
    let long = "keyword ".repeat(200);
    let kept = truncated(&long, DEFAULT_MAX_TOKENS);
    assert!(
        kept.ends_with("keyword") && kept.len() > 400 && kept.len() < 600,
        "{}",
        kept.len()
    );
    assert_eq!(
        truncated(&"水".repeat(500), DEFAULT_MAX_TOKENS).chars().count(),
        DEFAULT_MAX_TOKENS
    );
    assert_eq!(truncated("short query", DEFAULT_MAX_TOKENS), "short query");
    assert_eq!(truncated("水車 小屋", 2), "水車");
    assert!(estimated_tokens(kept) <= DEFAULT_MAX_TOKENS && estimated_tokens(kept) + 3 > DEFAULT_MAX_TOKENS);
}

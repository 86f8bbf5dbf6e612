use super::*;

#[test]
fn both_comparisons_parse_with_any_spacing() {
    for text in ["visits(generate) <= max_retries", " visits( generate )<=max_retries "] {
        assert_eq!(
            Words::parse(text),
            Some(Words {
                counted: "generate",
                comparison: Comparison::AtMost,
                limit: "max_retries"
            })
        );
    }
    assert_eq!(
        Words::parse("visits(web_search) < 1").unwrap().comparison,
        Comparison::Below
    );
}

#[test]
fn anything_else_is_no_condition() {
    for text in [
        "",
        "visits(generate)",
        "visits(generate) > 3",
        "visits(generate) <= ",
        "visits() < 3",
        "visits(generate < 3",
        "retries < 3",
        "visits(a) < 3 or true",
    ] {
        assert_eq!(Words::parse(text), None, "{text}");
    }
}

#[test]
fn at_most_closes_one_visit_after_below() {
    let condition = |comparison| Condition {
        counted: NodeId(0),
        comparison,
        limit: Value::Fixed(3.0),
        text: String::new(),
    };
    let options = Options::defaults(&[]);
    assert!(condition(Comparison::AtMost).is_open(&[3], &options));
    assert!(!condition(Comparison::AtMost).is_open(&[4], &options));
    assert!(condition(Comparison::Below).is_open(&[2], &options));
    assert!(!condition(Comparison::Below).is_open(&[3], &options));
}

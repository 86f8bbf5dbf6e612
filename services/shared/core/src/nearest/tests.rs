use super::*;

#[test]
fn a_near_name_is_offered_and_a_far_one_is_not() {
    let known = ["retrieve", "rewrite", "generate"];
    assert_eq!(did_you_mean("retreive", known), "; did you mean `retrieve`?");
    assert_eq!(did_you_mean("zebra", known), "");
}

#[test]
fn a_name_of_megabytes_is_not_compared() {
    let long = "retrieve".repeat(1_000_000);
    assert_eq!(nearest(&long, ["retrieve"]), None);
    assert_eq!(
        nearest(&"r".repeat(MAX_NAME_CHARS + 1), [&*"r".repeat(MAX_NAME_CHARS)]),
        None
    );
}

#[test]
fn a_known_name_of_megabytes_is_not_compared() {
    let long = "r".repeat(4_000_000);
    let near = "r".repeat(MAX_NAME_CHARS);
    assert_eq!(nearest(&near, [&*long]), None);
    assert_eq!(nearest(&near, [&*long, &near[1..]]), Some(&near[1..]));
}

#[test]
fn lengths_rule_out_only_what_is_too_different() {
    for (a, b) in [("abc", "abcde"), ("abcdef", "abcdefghij"), ("", ""), ("", "a")] {
        let alike = strsim::normalized_damerau_levenshtein(a, b) >= MIN_LIKENESS;
        assert_eq!(may_be_near(a.len(), b.len()), alike, "{a} {b}");
    }
}

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

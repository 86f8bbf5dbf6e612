use super::*;

#[test]
fn a_short_value_is_whole_and_a_long_one_says_how_long_it_is() {
    let short = "é".repeat(MAX_SHOWN_CHARS);
    assert_eq!(cut(&short).to_string(), short);
    let long = format!("{short}é");
    assert_eq!(cut(&long).to_string(), format!("{short}… (130 bytes)"));
    assert!(cut(&"a".repeat(4_000_000)).to_string().len() < 100);
}

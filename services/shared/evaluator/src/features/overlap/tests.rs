use super::*;

fn words(text: &str) -> Vec<String> {
    emend_text::words(text)
}

#[test]
fn shares_are_of_the_claim() {
    let claim = words("red boiler photosynthesis");
    let text: HashSet<String> = words("a red boiler").into_iter().collect();
    let weighted = Weighted::new(&claim);
    assert!((weighted.plain_share(|word| text.contains(word)) - 2.0 / 3.0).abs() < 1e-9);
    assert!(weighted.share(|word| text.contains(word)) < 0.6);
    let (rarest, sum) = weighted.missing(|word| text.contains(word));
    assert!(rarest > 1.0 && (rarest - sum).abs() < 1e-9);
    assert_eq!(Weighted::new(&[]).share(|_| false), 1.0);
}

#[test]
fn ngrams_and_subsequences_depend_on_order() {
    let (a, b) = (words("tall green towers fall"), words("green towers never fall tall"));
    assert!((ngram_overlap(&a, &b, 2) - 1.0 / 3.0).abs() < 1e-9);
    assert!((subsequence(&a, &b) - 0.75).abs() < 1e-9);
    assert_eq!(subsequence(&a, &[] as &[String]), 0.0);
    assert_eq!(ngram_overlap(&a[..1], &b, 2), 0.0);
}

#[test]
fn antonyms_and_negations_are_detected() {
    let set = |text: &str| words(text).into_iter().collect::<HashSet<_>>();
    assert!(has_antonym(&set("the northern bank"), &set("the southern bank")));
    assert!(!has_antonym(
        &set("the northern bank"),
        &set("the northern and southern bank")
    ));
    assert!(!has_antonym(&set("a bank"), &set("the southern bank")));
    for text in [
        "it did not rain.",
        "비가 오지 않았다",
        "雨は降らない",
        "没有下雨",
        "it doesn't rain",
    ] {
        assert!(has_negation(text), "{text}");
    }
    assert!(!has_negation("it rained in the north") && !has_negation("a knot"));
}

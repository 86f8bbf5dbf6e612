use proptest::prelude::*;

use super::*;

#[test]
fn marks_go_and_words_stay() {
    for (sentence, read) in [
        ("**Dinner** costs at most *38 euros*.", "Dinner costs at most 38 euros."),
        ("Run `cargo test` first.", "Run cargo test first."),
        (
            "See [the guide](https://x.example/a_b) for more.",
            "See the guide for more.",
        ),
        ("See [the guide][guide] and [this][].", "See the guide and this."),
        ("![Build](https://x/badge.svg) It builds.", "It builds."),
        ("", ""),
        ("![Build](https://x/badge.svg)", ""),
        ("<!-- nothing -->", ""),
        ("Press <kbd>Enter</kbd><br/>to go on.", "Press Enterto go on."),
        ("The office\nopens at eight.", "The office opens at eight."),
        (
            "/// Yields only entries\n    /// that the `predicate` takes.",
            "Yields only entries that the predicate takes.",
        ),
        ("//! Walks folders.\n//!\n// Quickly.", "Walks folders. Quickly."),
        ("**휴가**는 팀장이 승인한다.", "휴가는 팀장이 승인한다."),
    ] {
        assert_eq!(without_marks(sentence), read);
    }
}

#[test]
fn what_only_looks_like_a_mark_stays() {
    for sentence in [
        "2019. It was a good year.",
        "- 5 degrees at night.",
        "# is the prompt of root.",
        "A Vec<T> or an Option<u8> holds it.",
        "Set max_in_flight to 2 * 3 * 4.",
        "a[0][1] is the second cell, as in [1].",
        "| Dinner | €38 |",
        "Usage: ls <dir>",
        "It is divided by a // b.",
        "//host/share is a folder.",
    ] {
        assert_eq!(without_marks(sentence), sentence);
    }
}

proptest! {
    #[test]
    fn letters_and_digits_are_never_added(sentence in "\\PC{0,200}") {
        // Entities such as `&eacute;` become other letters.
        let sentence = sentence.replace('&', "");
        let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<Vec<_>>();
        let (before, after) = (letters(&sentence), letters(&without_marks(&sentence)));
        let mut left = before.iter();
        prop_assert!(after.iter().all(|c| left.any(|b| b == c)), "{sentence:?}");
    }
}

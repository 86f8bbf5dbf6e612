use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn it_has_what_the_text_contains(text in "[ab灯]{0,12}", part in "[ab灯]{0,5}") {
        let mut substrings = Substrings::default();
        text.chars().for_each(|c| substrings.push(c));
        let sought: Vec<char> = part.chars().collect();
        prop_assert_eq!(substrings.has(&sought), text.contains(&part));
        prop_assert!(substrings.states.len() <= 2 * text.chars().count().max(1));
    }
}

use super::*;

fn words(text: &str) -> Vec<String> {
    emend_text::words(text)
}

#[test]
fn shares_are_of_the_claim() {
    let claim = words("red boiler photosynthesis");
    let text = View::new("a red boiler");
    let weighted = Weighted::new(&claim);
    assert!((weighted.plain_share(|word| text.has(word)) - 2.0 / 3.0).abs() < 1e-9);
    assert!(weighted.share(|word| text.has(word)) < 0.6);
    let (rarest, sum) = weighted.missing(|word| text.has(word));
    assert!(rarest > 1.0 && (rarest - sum).abs() < 1e-9);
    assert!((weighted.missing_rarest(|word| text.has(word)) - rarest).abs() < 1e-9);
    assert_eq!(Weighted::new(&[]).share(|_| false), 1.0);
}

#[test]
fn words_that_are_known_do_not_count() {
    let weighted = Weighted::new(&words("red boiler photosynthesis"));
    let rest = weighted.without(|own| own == word("red"));
    let text = View::new("a red boiler");
    assert!((rest.plain_share(|word| text.has(word)) - 0.5).abs() < 1e-9);
    assert_eq!(rest.without(|_| true).share(|_| false), 1.0);
    let place = |text: &str| weighted.first_place(View::new(text).sentence_words(0));
    assert_eq!(place("boiler"), 0.0);
    assert!((place("an old boiler burst") - 0.5).abs() < 1e-9);
    assert_eq!((place("nothing of it"), place("")), (1.0, 1.0));
}

#[test]
fn shares_of_all_sentences_are_those_of_each() {
    let claim = words("red boiler heats twelve flats since the photosynthesis");
    let text = View::new("It is red. A boiler heats it. Twelve flats! And then nothing. The red boiler again.");
    let weighted = Weighted::new(&claim);
    let title: HashSet<Word> = [word("flat")].into();
    for (before, after) in [(0, 0), (0, 1), (1, 1)] {
        let shares = weighted.shares(&text, (before, after), |_| false);
        let titled = weighted.shares(&text, (before, after), |word| title.contains(&word));
        for index in 0..text.sentences.len() {
            let near = index.saturating_sub(before)..(index + after + 1).min(text.sentences.len());
            let has = |word: Word| near.clone().any(|index| text.sentence_set(index).contains(&word));
            assert!(
                (shares[index] - weighted.share(has)).abs() < 1e-9,
                "{before} {after} {index}"
            );
            let or_title = |word| has(word) || title.contains(&word);
            assert!(
                (titled[index] - weighted.share(or_title)).abs() < 1e-9,
                "{before} {after} {index}"
            );
        }
    }
    for (index, share) in weighted.plain_shares(&text).into_iter().enumerate() {
        let own = weighted.plain_share(|word| text.sentence_set(index).contains(&word));
        assert!((share - own).abs() < 1e-9);
    }
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
    let opposes = |claim: &str, text: &str| has_antonym(&View::new(claim), &View::new(text).sentence_set(0));
    assert!(opposes("the northern bank", "the southern bank"));
    assert!(!opposes("the northern bank", "the northern and southern bank"));
    assert!(!opposes("a bank", "the southern bank"));
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

use super::*;

fn score(text: &str, probability: f64) -> SentenceScore {
    SentenceScore {
        passage: 0,
        range: 0..text.len(),
        text: text.to_owned(),
        probability,
        part: 0,
    }
}

#[test]
fn a_quotation_has_the_probability_of_its_best_sentence() {
    let scores = [
        score("- The boiler is **new**.", 0.8),
        score("It was installed in 2019.", 0.6),
        score("Roses stand along the wall.", 0.1),
    ];
    assert_eq!(
        probability("The boiler is new. It was installed in 2019.", &scores),
        Some(0.8)
    );
    assert_eq!(probability("It was installed in 2019.", &scores), Some(0.6));
    assert_eq!(probability("The boiler was installed in 2019.", &scores), None);
    assert_eq!(probability("It was installed in 2019. Trust me.", &scores), None);
    assert_eq!(probability("", &scores), None);
}

#[test]
fn parts_of_a_quoted_sentence_do_not_count() {
    let scores = [score("2019", 0.9), score("It was installed in 2019 by Ada.", 0.3)];
    assert_eq!(probability("It was installed in 2019 by Ada.", &scores), Some(0.3));
}

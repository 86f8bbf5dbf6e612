use super::*;

fn entrant(passage: usize, text: &str, logit: f64, competes: bool) -> Entrant {
    Entrant {
        score: SentenceScore {
            passage,
            range: 0..text.len(),
            text: text.to_owned(),
            probability: sigmoid(logit),
        },
        logit,
        competes,
    }
}

fn probabilities(entrants: &[(usize, &str, f64, bool)]) -> Vec<(String, f64)> {
    let entrants = entrants
        .iter()
        .map(|(passage, text, logit, competes)| entrant(*passage, text, *logit, *competes));
    let ranked = rank(entrants.collect());
    ranked
        .into_iter()
        .map(|score| (score.text, (score.probability * 100.0).round() / 100.0))
        .collect()
}

#[test]
fn two_sentences_that_are_as_good_as_each_other_are_less_sure_than_one() {
    let one = probabilities(&[(0, "Leave is 25 days.", 3.0, true), (0, "It rains.", -9.0, true)]);
    assert_eq!(one[0], ("Leave is 25 days.".to_owned(), 0.95));
    let two = probabilities(&[(0, "Leave is 25 days.", 3.0, true), (1, "Leave is 30 days.", 3.0, true)]);
    assert_eq!([two[0].1, two[1].1], [0.49, 0.49]);
}

#[test]
fn what_stands_in_several_places_competes_once() {
    let twice = probabilities(&[(0, "Leave is 25 days.", 3.0, true), (1, "Leave is 25 days.", 2.0, true)]);
    assert_eq!([twice[0].1, twice[1].1], [0.95, 0.95]);
}

#[test]
fn a_sentence_of_a_model_that_judges_each_by_itself_has_no_rival() {
    let mixed = probabilities(&[(0, "a", 3.0, false), (0, "b", 3.0, true), (0, "c", 1.0, false)]);
    assert_eq!(
        mixed,
        [("a".to_owned(), 0.95), ("b".to_owned(), 0.95), ("c".to_owned(), 0.73)]
    );
}

#[test]
fn a_heading_is_never_chosen() {
    let ranked = probabilities(&[
        (0, "Leave", f64::NEG_INFINITY, true),
        (0, "It is 25 days.", 1000.0, true),
    ]);
    assert_eq!(ranked, [("It is 25 days.".to_owned(), 1.0), ("Leave".to_owned(), 0.0)]);
    assert_eq!(probabilities(&[]), []);
}

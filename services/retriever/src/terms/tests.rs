use super::*;

fn weight(terms: &Terms, word: &str) -> f32 {
    let index = terms.indices.binary_search(&hash(word));
    index.map_or(0.0, |index| terms.weights[index])
}

#[test]
fn a_word_weighs_more_the_oftener_it_occurs_and_less_in_a_longer_passage() {
    let once = Terms::of_passage("ferry island harbour");
    let twice = Terms::of_passage("ferry ferry island harbour");
    assert!(weight(&twice, "ferri") > weight(&once, "ferri"));
    assert!(weight(&twice, "ferri") < 2.0 * weight(&once, "ferri"));
    let long = Terms::of_passage(&format!("ferry {}", "island harbour ".repeat(100)));
    assert!(weight(&long, "ferri") < weight(&once, "ferri"));
}

#[test]
fn forms_of_a_word_are_one_term_and_stop_words_are_none() {
    let query = Terms::of_query("the ferries, the Ferry");
    assert_eq!(query.indices, [hash("ferri")]);
    assert_eq!(query.weights, [1.0]);
    assert!(Terms::of_query("—").is_empty());
}

#[test]
fn chinese_is_found_by_pairs_of_characters() {
    let passage = Terms::of_passage("東京都の人口");
    let query = Terms::of_query("東京");
    assert!(query.indices.iter().all(|index| passage.indices.contains(index)));
}

#[test]
fn bytes_are_read_as_they_were_written() {
    let terms = Terms::of_passage("The ferry leaves the pier at 7.");
    assert!(terms.indices.is_sorted() && terms.indices.len() >= 4);
    assert_eq!(Terms::from_bytes(&terms.to_bytes()), terms);
}

#[test]
fn stored_hashes_never_change() {
    assert_eq!([hash("ferri"), hash("東京")], [2_112_801_012, 3_492_227_422]);
}

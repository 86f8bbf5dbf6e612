use std::collections::BTreeMap;
use std::convert::Infallible;

use super::*;
use crate::backend::Unit;

fn hit(document: &str, text: &str, score: f64) -> SearchHit {
    SearchHit {
        document: document.to_owned(),
        title: String::new(),
        source: String::new(),
        metadata: BTreeMap::new(),
        unit: Unit::Section,
        index: 0,
        start: 0,
        end: 0,
        text: text.to_owned(),
        language: language(text),
        headings: Vec::new(),
        score,
    }
}

fn english(number: u32) -> SearchHit {
    let text = format!("The museum shop number {number} is open on the weekend and closed on Monday.");
    hit(&format!("en{number}"), &text, reciprocal(number))
}

fn korean(number: u32) -> SearchHit {
    hit(
        &format!("ko{number}"),
        &format!("한지 체험은 {number}시에 시작한다."),
        reciprocal(10 + number),
    )
}

fn documents(found: &[SearchHit]) -> Vec<&str> {
    found.iter().map(|hit| hit.document.as_str()).collect()
}

/// Joins what was found with the nearest, and says how many of these were looked at.
fn joined(asked: Language, found: &[SearchHit], nearest: &[SearchHit], limit: usize) -> (Vec<SearchHit>, usize) {
    let mut looked_at = 0;
    let read = |hit: &SearchHit, score| {
        looked_at += 1;
        let is_new = !documents(found).contains(&hit.document.as_str());
        let hit = SearchHit { score, ..hit.clone() };
        Ok::<_, Infallible>((is_new && hit.language != asked).then_some(hit))
    };
    let joined = with_foreign(asked, limit, found.to_vec(), (1..).zip(nearest), read).unwrap();
    (joined, looked_at)
}

#[test]
fn the_nearest_of_another_language_takes_the_last_place() {
    let found: Vec<SearchHit> = (1..=4).map(english).collect();
    let nearest = [english(1), english(5), korean(1), korean(2)];
    let (in_english, looked_at) = joined(Language::En, &found, &nearest, 4);
    assert_eq!(documents(&in_english), ["en1", "en2", "en3", "ko1"]);
    assert!(in_english.is_sorted_by(|a, b| a.score >= b.score), "{in_english:?}");
    assert_eq!(looked_at, 3, "none after the one that was missing");
    // Asked in Korean, the English ones are the others, and there are enough.
    let (in_korean, looked_at) = joined(Language::Ko, &found, &nearest, 4);
    assert_eq!(documents(&in_korean), ["en1", "en2", "en3", "en4"]);
    assert_eq!(looked_at, 0);
}

#[test]
fn what_was_found_in_other_languages_counts_and_is_not_found_twice() {
    let found = [korean(1), english(1), english(2), english(3)];
    let (few, _) = joined(Language::En, &found, &[korean(1), korean(2)], 4);
    assert_eq!(few.len(), 4);
    assert!(!documents(&few).contains(&"ko2"), "one of four places is taken already");
    let (many, _) = joined(Language::En, &found, &(1..=4).map(korean).collect::<Vec<_>>(), 10);
    let korean = documents(&many)
        .into_iter()
        .filter(|document| document.starts_with("ko"));
    assert_eq!(korean.count(), 3);
}

#[test]
fn one_language_alone_is_found_as_before() {
    let found: Vec<SearchHit> = (1..=4).map(english).collect();
    let nearest: Vec<SearchHit> = (1..=90).map(english).collect();
    let (same, looked_at) = joined(Language::En, &found, &nearest, 4);
    assert_eq!((same, looked_at), (found, DEPTH));
    assert_eq!((places(3), places(4), places(10)), (0, 1, 3));
    assert_eq!((depth(3), depth(4), depth(100)), (0, DEPTH, 100));
}

use std::collections::BTreeMap;

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

#[test]
fn the_nearest_of_another_language_takes_the_last_place() {
    let found: Vec<SearchHit> = (1..=4).map(english).collect();
    let nearest = vec![english(1), english(5), korean(1), korean(2)];
    let joined = with_foreign("When does the paper workshop start?", found.clone(), nearest.clone(), 4);
    assert_eq!(documents(&joined), ["en1", "en2", "en3", "ko1"]);
    assert!(joined.is_sorted_by(|a, b| a.score >= b.score), "{joined:?}");
    // Asked in Korean, the English ones are the others, and there are enough.
    let joined = with_foreign("한지 체험은 언제 시작하나요?", found, nearest, 4);
    assert_eq!(documents(&joined), ["en1", "en2", "en3", "en4"]);
}

#[test]
fn what_was_found_in_other_languages_counts_and_is_not_found_twice() {
    let found = vec![korean(1), english(1), english(2), english(3)];
    let joined = with_foreign("When does it start?", found.clone(), vec![korean(1), korean(2)], 4);
    assert_eq!(documents(&joined).len(), 4);
    assert!(
        !documents(&joined).contains(&"ko2"),
        "one of four places is taken already"
    );
    let wide = with_foreign(
        "When does it start?",
        found,
        vec![korean(1), korean(2), korean(3), korean(4)],
        10,
    );
    assert_eq!(
        documents(&wide)
            .iter()
            .filter(|document| document.starts_with("ko"))
            .count(),
        3
    );
}

#[test]
fn one_language_alone_is_found_as_before() {
    let found: Vec<SearchHit> = (1..=4).map(english).collect();
    let nearest: Vec<SearchHit> = (1..=9).map(english).collect();
    assert_eq!(with_foreign("When is it open?", found.clone(), nearest, 4), found);
    assert_eq!((places(3), places(4), places(10)), (0, 1, 3));
    let depths = [
        SearchMode::Hybrid,
        SearchMode::Unspecified,
        SearchMode::Dense,
        SearchMode::Sparse,
    ]
    .map(|mode| depth(mode, 4));
    assert_eq!(depths, [DEPTH, DEPTH, 0, 0]);
    assert_eq!((depth(SearchMode::Hybrid, 3), depth(SearchMode::Hybrid, 100)), (0, 100));
}

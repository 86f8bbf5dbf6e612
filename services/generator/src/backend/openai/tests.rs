use super::*;

#[test]
fn r3_a_later_attempt_is_warmer_than_the_one_before() {
    assert_eq!(temperature(None, 0.0, 0), 0.0);
    assert!((temperature(None, 0.0, 1) - 0.3).abs() < 1e-6);
    assert_eq!(temperature(None, 0.0, 9), 1.0);
    assert_eq!(temperature(None, 1.5, 3), 1.5);
    // A request says how warm its first attempt is; the service's setting does not matter then.
    assert_eq!(temperature(Some(0.0), 0.7, 0), 0.0);
    assert!((temperature(Some(0.2), 0.7, 2) - 0.8).abs() < 1e-6);
    assert_eq!(temperature(Some(1.5), 0.0, 3), 1.5);
}

#[test]
fn marks_belong_to_the_sentence_before_them() {
    let answer = "The tower is red. It is old.";
    let passages = ["a", "b"].map(|id| Passage {
        id: id.to_owned(),
        ..Passage::default()
    });
    let marks = [(0, 2), (16, 1), (17, 2), (17, 2), (28, 1)].map(|(at, number)| Mark { at, number });
    let sentences = sentences(answer, &marks, &passages);
    let cited: Vec<Vec<&str>> = sentences
        .iter()
        .map(|s| s.citations.iter().map(|c| c.passage_id.as_str()).collect())
        .collect();
    assert_eq!(cited, [vec!["b", "a"], vec!["a"]]);
    assert_eq!(sentences[1].span, Some(emend_proto::v1::Span { start: 18, end: 28 }));
}

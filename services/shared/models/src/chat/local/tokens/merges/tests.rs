use super::*;

#[test]
fn merges_are_sorted_by_score_and_include_every_split() {
    let pieces = ["a", "b", "ab", "aab", "aa", "<x>"];
    let scores = [0.0, 0.0, -2.0, -3.0, -1.0, 0.0];
    let merges = from_scores(&pieces, &scores, |index| index < 5);
    let merges: Vec<_> = merges.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(merges, [("a", "a"), ("a", "b"), ("a", "ab"), ("aa", "b")]);
}

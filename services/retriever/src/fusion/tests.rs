use super::*;

fn order(rankings: &[&[&'static str]]) -> Vec<&'static str> {
    let fused = reciprocal_rank(rankings.iter().map(|ranking| ranking.to_vec()));
    assert!(fused.is_sorted_by(|(_, left), (_, right)| left >= right));
    fused.into_iter().map(|(unit, _)| unit).collect()
}

#[test]
fn what_both_rankings_have_comes_before_what_only_one_has() {
    assert_eq!(order(&[&["a", "b", "c"], &["d", "c", "e"]]), ["c", "a", "d", "b", "e"]);
}

#[test]
fn one_ranking_stays_as_it_is() {
    assert_eq!(order(&[&["b", "a", "c"], &[]]), ["b", "a", "c"]);
    assert!(order(&[]).is_empty());
}

#[test]
fn ties_are_in_the_order_of_the_units() {
    assert_eq!(order(&[&["b", "a"], &["a", "b"]]), ["a", "b"]);
}

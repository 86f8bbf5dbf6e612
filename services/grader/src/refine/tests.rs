use super::*;
use crate::backend::Ungraded;

/// The places that are kept; NaN stands for a strip without a grade.
fn places(scores: &[f64], threshold: f64, most: usize) -> Vec<usize> {
    let grade = |score: &f64| match score {
        score if score.is_nan() => Grade::Ungraded(Ungraded::OutOfTime),
        score => Grade::Graded(*score),
    };
    let grades: Vec<_> = scores.iter().map(grade).collect();
    let kept = kept(&grades, threshold, most);
    (0..scores.len()).filter(|place| kept[*place]).collect()
}

#[test]
fn the_best_are_kept_from_the_threshold_on() {
    assert_eq!(places(&[0.1, 0.9, 0.5, 0.3, 0.7], 0.3, 3), [1, 2, 4]);
    assert_eq!(places(&[0.1, 0.9, 0.3, 0.29], 0.3, 5), [1, 2]);
    assert_eq!(places(&[0.5, 0.5, 0.5], 0.0, 2), [0, 1]);
    assert_eq!(places(&[0.1], 0.3, 5), [0_usize; 0]);
}

#[test]
fn what_has_no_grade_is_kept_after_what_has_one() {
    assert_eq!(places(&[f64::NAN, 0.9, 0.1, f64::NAN], 0.3, 2), [0, 1]);
    assert_eq!(places(&[f64::NAN, 0.9, 0.8], 0.3, 2), [1, 2]);
    assert_eq!(places(&[f64::NAN, f64::NAN], 0.3, 5), [0, 1]);
}

use super::*;
use crate::backend::Ungraded;

const THRESHOLDS: Thresholds = Thresholds {
    relevance: 0.5,
    upper: 0.7,
    lower: 0.3,
    strip: 0.3,
};

/// NaN stands for a passage without a grade.
fn evaluation(scores: &[f64]) -> Evaluation {
    let grade = |score: &f64| match score {
        score if score.is_nan() => Grade::Ungraded(Ungraded::OutOfTime),
        score => Grade::Graded(*score),
    };
    evaluate(&scores.iter().map(grade).collect::<Vec<_>>(), THRESHOLDS)
}

#[test]
fn one_good_passage_is_correct_and_only_bad_ones_are_incorrect() {
    assert_eq!(evaluation(&[0.1, 0.7, 0.0]), Evaluation::Correct);
    assert_eq!(evaluation(&[0.1, 0.29]), Evaluation::Incorrect);
    assert_eq!(evaluation(&[0.1, 0.3]), Evaluation::Ambiguous);
    assert_eq!(evaluation(&[0.69, 0.0]), Evaluation::Ambiguous);
}

#[test]
fn a_missing_grade_is_neither_good_nor_bad() {
    assert_eq!(evaluation(&[f64::NAN, 0.9]), Evaluation::Correct);
    assert_eq!(evaluation(&[f64::NAN, 0.1]), Evaluation::Ambiguous);
    assert_eq!(evaluation(&[f64::NAN, f64::NAN]), Evaluation::Ambiguous);
}

#[test]
fn a_named_threshold_moves_the_one_that_is_not_named() {
    let request = |upper, lower| GradeDocumentsRequest {
        upper_threshold: upper,
        lower_threshold: lower,
        ..GradeDocumentsRequest::default()
    };
    let pair = |upper, lower| {
        let thresholds = effective(THRESHOLDS, &request(upper, lower));
        (thresholds.upper, thresholds.lower)
    };
    assert_eq!(pair(None, None), (0.7, 0.3));
    assert_eq!(pair(Some(0.2), None), (0.2, 0.2));
    assert_eq!(pair(None, Some(0.8)), (0.8, 0.8));
    assert_eq!(pair(Some(0.9), Some(0.0)), (0.9, 0.0));
}

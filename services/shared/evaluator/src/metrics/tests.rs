use super::*;

fn judged(pairs: &[(f64, bool)]) -> Vec<Judged> {
    let one = |(probability, label): &(f64, bool)| Judged {
        probability: *probability,
        label: *label,
    };
    pairs.iter().map(one).collect()
}

#[test]
fn roc_auc_is_the_share_of_ordered_pairs() {
    let pairs = judged(&[(0.9, true), (0.4, false), (0.4, true), (0.1, false)]);
    // Three of the four pairs are ordered correctly and one is tied.
    assert_eq!(roc_auc(&pairs), Some(3.5 / 4.0));
    assert_eq!(roc_auc(&judged(&[(0.9, true)])), None);
    assert_eq!(roc_auc(&[]), None);
}

#[test]
fn the_best_threshold_balances_precision_and_recall() {
    let pairs = judged(&[(0.9, true), (0.8, true), (0.7, false), (0.6, true), (0.2, false)]);
    let best = best_f1(&pairs).unwrap();
    assert_eq!((best.threshold, best.precision, best.recall), (0.6, 0.75, 1.0));
    assert_eq!(threshold_for_precision(&pairs, 0.9).unwrap().threshold, 0.8);
    assert_eq!(threshold_for_precision(&pairs, 0.7).unwrap().threshold, 0.6);
    assert_eq!(threshold_for_precision(&judged(&[(0.5, false)]), 0.9), None);
    assert_eq!(threshold_for_recall(&pairs, 0.5).unwrap().threshold, 0.8);
    assert_eq!(threshold_for_recall(&pairs, 0.7).unwrap().threshold, 0.6);
    assert_eq!(threshold_for_recall(&judged(&[(0.5, false)]), 0.7), None);
    assert_eq!(best_f1(&judged(&[(0.5, false)])), None);
}

#[test]
fn a_precise_threshold_may_lie_below_imprecise_ones() {
    let pairs = judged(&[(0.9, false), (0.8, true), (0.7, true), (0.6, true), (0.5, true)]);
    assert_eq!(threshold_for_precision(&pairs, 0.8).unwrap().threshold, 0.5);
}

#[test]
fn calibration_compares_probabilities_with_outcomes() {
    let sure = judged(&[(1.0, true), (0.0, false)]);
    assert_eq!((brier(&sure), expected_calibration_error(&sure)), (0.0, 0.0));
    let half = judged(&[(0.75, true), (0.75, false)]);
    assert!((expected_calibration_error(&half) - 0.25).abs() < 1e-9);
    assert!((brier(&half) - (0.0625 + 0.5625) / 2.0).abs() < 1e-9);
    let bins = reliability(&half, 10);
    assert_eq!((bins[7].count, bins[7].right, bins[0].count), (2, 0.5, 0));
    assert_eq!((brier(&[]), expected_calibration_error(&[])), (0.0, 0.0));
}

#[test]
fn few_pairs_have_a_chance_calibration_error() {
    // Four fair coins: 0 to 4 heads in 1, 4, 6, 4, 1 of 16 cases are off by 2, 1, 0, 1, 2 of 4, by 0.1875 in the mean.
    let coins = judged(&[(0.5, true); 4]);
    let chance = chance_calibration_error(&coins);
    assert!((chance - 0.1875).abs() < 0.02, "{chance}");
    // With sixteen times as many pairs it is a quarter.
    let many = chance_calibration_error(&coins.repeat(16));
    assert!((many - chance / 4.0).abs() < 1e-9, "{many}");
    assert_eq!(chance_calibration_error(&judged(&[(1.0, true), (0.0, false)])), 0.0);
    assert_eq!(chance_calibration_error(&[]), 0.0);
}

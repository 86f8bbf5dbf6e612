use super::*;

fn paired(both: u32, better: u32, worse: u32, neither: u32) -> Paired {
    Paired {
        both,
        better,
        worse,
        neither,
    }
}

fn near(found: f64, published: f64, digits: i32) -> bool {
    (found - published).abs() < 0.5 * 10f64.powi(-digits) + 1e-9
}

#[test]
fn wilson_agrees_with_the_published_examples() {
    for (count, of, low, high) in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ] {
        let [found_low, found_high] = wilson(count, of).unwrap();
        assert!(
            near(found_low, low, 4) && near(found_high, high, 4),
            "{count} of {of}: {found_low} {found_high}"
        );
    }
    assert!(wilson(0, 0).is_none());
    assert_eq!(wilson(5, 5).unwrap()[1].to_bits(), 1f64.to_bits());
}

#[test]
fn the_difference_agrees_with_the_published_examples() {
    // Airway hyper-responsiveness before and after a transplantation, and Newcombe's own (36, 12, 2, 0).
    for (table, points, low, high) in [
        (paired(1, 1, 7, 12), -28.6, -50.7, -2.6),
        (paired(36, 12, 2, 0), 20.0, 5.7, 34.0),
    ] {
        let found = table.difference().unwrap();
        assert!(
            near(found.points, points, 1) && near(found.low, low, 1) && near(found.high, high, 1),
            "{found:?}"
        );
        assert!(found.is_real());
    }
}

#[test]
fn graphs_that_agree_do_not_differ_but_few_questions_do_not_prove_it() {
    let few = paired(5, 0, 0, 0).difference().unwrap();
    let many = paired(5000, 0, 0, 0).difference().unwrap();
    assert!(!few.is_real() && !many.is_real());
    assert!(few.high > 40.0 && many.high < 0.1, "{few:?} {many:?}");
    assert!(Paired::default().difference().is_none());
}

#[test]
fn the_other_way_round_it_is_the_other_sign() {
    let there = paired(180, 30, 15, 25).difference().unwrap();
    let back = paired(180, 15, 30, 25).difference().unwrap();
    assert!(near(there.points, -back.points, 9) && near(there.low, -back.high, 9) && near(there.high, -back.low, 9));
    // Paired, 45 disagreements in 250 are told apart; unpaired, 210 against 195 in 250 would not be.
    assert!(there.is_real() && there.low > 0.0);
}

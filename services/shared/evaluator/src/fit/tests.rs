use super::*;
use crate::metrics::{Judged, roc_auc};

fn row(values: &[f64], label: bool, key: usize) -> Row {
    Row {
        values: values.to_vec(),
        label,
        key: key.to_string(),
        source: "made".to_owned(),
        contest: None,
    }
}

/// Two columns; the label is positive with the logistic probability of `1 + 2·a − 3·b`.
fn table(rows: usize) -> Table {
    let mut state = 7u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let rows = (0..rows).map(|key| {
        let (a, b) = (random() * 4.0 - 2.0, random() * 4.0 - 2.0);
        row(&[a, b, 1.0], random() < sigmoid(1.0 + 2.0 * a - 3.0 * b), key)
    });
    Table {
        names: vec!["a", "b", "constant"],
        rows: rows.collect(),
    }
}

#[test]
fn recovers_the_coefficients_of_generated_labels() {
    let (fitted, _) = fit(&table(20_000));
    let raw = |place: usize| fitted.terms[place].map(|(weight, _, scale)| weight / scale).unwrap();
    assert!((raw(0) - 2.0).abs() < 0.1 && (raw(1) + 3.0).abs() < 0.1, "{fitted:?}");
    assert_eq!(fitted.terms[2], None);
    assert!((fitted.logit(&[0.0, 0.0, 1.0]) - 1.0).abs() < 0.02);
}

#[test]
fn separable_or_constant_labels_give_finite_coefficients() {
    let separated = Table {
        names: vec!["a"],
        rows: (0..40).map(|n| row(&[f64::from(n)], n >= 20, n as usize)).collect(),
    };
    let (fitted, _) = fit(&separated);
    let (weight, _, _) = fitted.terms[0].unwrap();
    assert!(weight.is_finite() && weight > 0.1, "{fitted:?}");
    let same = Table {
        names: vec!["a"],
        rows: (0..40).map(|n| row(&[f64::from(n)], true, n as usize)).collect(),
    };
    assert!(fit(&same).0.logit(&[3.0]) > 2.0);
}

#[test]
fn a_question_is_in_one_fold() {
    // The label is random per question, so one question says nothing about another.
    let coin = |key: usize| Sha256::digest([b'x', key as u8])[0] % 2 == 0;
    let rows = (0..60).flat_map(|key| {
        let columns: Vec<f64> = (0..60).map(|other| f64::from(u8::from(other == key))).collect();
        (0..4).map(move |_| row(&columns, coin(key), key))
    });
    let table = Table {
        names: vec!["q"; 60],
        rows: rows.collect(),
    };
    let (seen, blind) = fit(&table);
    let judged = |logits: Vec<f64>| -> Vec<Judged> {
        let rows = table.rows.iter().zip(logits);
        let judged = rows.map(|(row, logit)| Judged {
            probability: sigmoid(logit),
            label: row.label,
        });
        judged.collect()
    };
    let auc = roc_auc(&judged(blind)).unwrap();
    assert!((0.3..0.7).contains(&auc), "{auc}");
    let seen = table.rows.iter().map(|row| seen.logit(&row.values));
    assert!(roc_auc(&judged(seen.collect())).unwrap() > 0.95);
}

#[test]
fn the_best_of_rivals_is_as_likely_right_as_its_probability_says() {
    // A model that is far too sure: the best sentence is right in two of five questions, and more so the surer.
    let (mut rows, mut logits) = (Vec::new(), Vec::new());
    for question in 0..400 {
        for (place, logit) in [4.0 + 0.005 * question as f64, 1.0].into_iter().enumerate() {
            let label = place == 0 && question % 5 < if question < 200 { 1 } else { 3 };
            rows.push(Row {
                contest: Some(question),
                ..row(&[logit], label, question)
            });
            logits.push(logit);
        }
    }
    let table = Table {
        names: vec!["logit"],
        rows,
    };
    let mut model = Fit {
        bias: 0.0,
        terms: vec![Some((1.0, 0.0, 1.0))],
    };
    recalibrate(&table, &mut model, &mut logits);
    let chosen = choices(&table, &logits);
    let best: Vec<f64> = chosen.iter().step_by(2).copied().collect();
    let mean = best.iter().sum::<f64>() / best.len() as f64;
    assert!((0.37..0.43).contains(&mean), "{mean}");
    assert!(best[399] > best[0]);
    // The model says what the held-out log-odds say.
    assert!((model.logit(&[4.0]) - logits[0]).abs() < 1e-9);
}

#[test]
fn choices_that_are_all_right_say_not_how_sure_to_be() {
    let rows = (0..9).map(|question| row(&[1.0], true, question));
    let table = Table {
        names: vec!["logit"],
        rows: rows.collect(),
    };
    let mut model = Fit {
        bias: 0.0,
        terms: vec![Some((1.0, 0.0, 1.0))],
    };
    let (before, mut logits) = (model.clone(), vec![1.0; 9]);
    recalibrate(&table, &mut model, &mut logits);
    assert_eq!((model, logits), (before, vec![1.0; 9]));
}

/// Questions with four sentences each. Words in common with the question say which sentence answers (`overlap`); how many
/// of them there are differs from question to question (`easy`).
fn contests(questions: usize, rivals: bool) -> Table {
    let mut state = 11u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut rows = Vec::new();
    for question in 0..questions {
        let easy = random() * 8.0;
        let overlaps: Vec<f64> = (0..4).map(|_| easy + random() * 2.0).collect();
        let logits: Vec<f64> = overlaps.iter().map(|overlap| 3.0 * (overlap - easy)).collect();
        let whole: f64 = logits.iter().map(|logit| logit.exp()).sum();
        let mut rest = random() * whole;
        for (overlap, logit) in overlaps.iter().zip(&logits) {
            let label = rest >= 0.0 && rest < logit.exp();
            rest -= logit.exp();
            rows.push(Row {
                contest: rivals.then_some(question),
                ..row(&[*overlap], label, question)
            });
        }
    }
    Table {
        names: vec!["overlap"],
        rows,
    }
}

#[test]
fn rivals_are_compared_with_each_other() {
    // All sentences of an easy question are alike, and each of them is more like the question than any of another.
    let weight = |table: &Table| fit(table).0.terms[0].map(|(weight, _, scale)| weight / scale).unwrap();
    let (together, apart) = (weight(&contests(4000, true)), weight(&contests(4000, false)));
    assert!((together - 3.0).abs() < 0.2 && apart < 0.5, "{together} {apart}");
}

#[test]
fn a_contest_that_nobody_wins_lowers_all_in_it() {
    let contest = |winner: Option<usize>, contest| {
        (0..3).map(move |place| Row {
            contest: Some(contest),
            ..row(&[place as f64], winner == Some(place), contest)
        })
    };
    let table = |lost: usize| Table {
        names: vec!["place"],
        rows: (0..60).flat_map(|n| contest((n >= lost).then_some(2), n)).collect(),
    };
    let best = |lost| fit(&table(lost)).0.logit(&[2.0]);
    assert!(best(50) < best(10) - 1.0, "{} {}", best(50), best(10));
}

#[test]
fn rivals_with_the_same_log_odds_share_the_choice() {
    let rivals = Rivals {
        rows: vec![0, 1],
        weight: 1.0,
    };
    let loss = |logits: [f64; 2], labels: [bool; 2]| rivals.loss(&logits, &labels);
    assert!((loss([0.0, 0.0], [true, false]) - 3f64.ln()).abs() < 1e-9);
    assert!((loss([0.0, 0.0], [false, false]) - 3f64.ln()).abs() < 1e-9);
    // Of two that are right, each should have half.
    assert!((loss([9.0, 9.0], [true, true]) - 2f64.ln()).abs() < 1e-3);
    assert!((loss([800.0, -800.0], [true, false])).abs() < 1e-9);
}

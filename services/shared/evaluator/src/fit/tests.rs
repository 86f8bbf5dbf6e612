use super::*;
use crate::metrics::roc_auc;

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
    assert!((fitted.probability(&[0.0, 0.0, 1.0]) - sigmoid(1.0)).abs() < 0.02);
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
    assert!(fit(&same).0.probability(&[3.0]) > 0.9);
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
    let auc = roc_auc(&blind).unwrap();
    assert!((0.3..0.7).contains(&auc), "{auc}");
    let judged: Vec<Judged> = table
        .rows
        .iter()
        .map(|row| Judged {
            probability: seen.probability(&row.values),
            label: row.label,
        })
        .collect();
    assert!(roc_auc(&judged).unwrap() > 0.95);
}

#[test]
fn a_line_through_log_odds_is_found() {
    let table = table(4000);
    let rows: Vec<Row> = table
        .rows
        .iter()
        .map(|row| Row {
            values: vec![5.0 * row.values[0]],
            ..row.clone()
        })
        .collect();
    let (scale, shift) = line(&rows).unwrap();
    // The other column blurs the slope of 2 ⁄ 5.
    assert!((0.1..0.4).contains(&scale) && shift > 0.0, "{scale} {shift}");
    assert_eq!(line(&rows[..0]), None);
}

#[test]
fn the_right_row_of_a_contest_is_chosen() {
    // The right row of a question is a little above the wrong one, and questions differ much more: a row alone says little.
    let mut state = 3u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut rows = Vec::new();
    for question in 0..300 {
        let level = 10.0 * random();
        let right = random() + 0.5;
        for (label, own) in [(true, level + right), (false, level)] {
            rows.push(Row {
                contest: Some(question.to_string()),
                ..row(&[own], label, question)
            });
        }
    }
    let alone: Vec<Row> = rows
        .iter()
        .map(|row| Row {
            contest: None,
            ..row.clone()
        })
        .collect();
    let weight = |rows: Vec<Row>| {
        let (fitted, _) = fit(&Table {
            names: vec!["own"],
            rows,
        });
        fitted.terms[0].unwrap().0
    };
    let (alone, competing) = (weight(alone), weight(rows));
    assert!(competing > 1.1 * alone && alone > 0.0, "{alone} {competing}");
}

#[test]
fn where_rows_compete_the_similarity_is_preferred() {
    let weights = |competes: bool| {
        let rows = (0..200).flat_map(|question: usize| {
            let right = (question % 7) as f64 * 0.1;
            [(1.0 + right, true), (0.8 - right, false)].map(|(value, label)| Row {
                contest: competes.then(|| question.to_string()),
                ..row(&[value, value], label, question)
            })
        });
        let (fitted, _) = fit(&Table {
            names: vec![SIMILARITY, "overlap"],
            rows: rows.collect(),
        });
        let weight = |place: usize| fitted.terms[place].unwrap().0;
        (weight(0), weight(1))
    };
    // Both columns say the same.
    let (similarity, overlap) = weights(false);
    assert!((similarity - overlap).abs() < 1e-6, "{similarity} {overlap}");
    let (similarity, overlap) = weights(true);
    assert!(similarity > 100.0 * overlap, "{similarity} {overlap}");
}

#[test]
fn where_rows_compete_the_strongest_penalty_within_an_error_is_chosen() {
    let fitted = |competes: bool| {
        let mut table = table(400);
        for (place, row) in table.rows.iter_mut().enumerate() {
            row.contest = competes.then(|| place.to_string());
        }
        fit(&table).0
    };
    // No question has two rows, so that only the choice of the penalty differs.
    let size = |fit: &Fit| {
        fit.terms
            .iter()
            .flatten()
            .map(|(weight, _, _)| weight.abs())
            .sum::<f64>()
    };
    let (best, strong) = (fitted(false), fitted(true));
    assert!(size(&strong) < 0.9 * size(&best), "{strong:?} {best:?}");
}

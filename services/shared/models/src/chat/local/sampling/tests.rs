use super::*;

const LOGITS: [f32; 4] = [0.0, 2.0, 1.0, -30.0];

fn sampling(temperature: f32, seed: Option<u64>, penalty: Option<f32>) -> Sampling {
    Sampling::new(&ChatRequest {
        temperature: Some(temperature),
        seed,
        frequency_penalty: penalty,
        ..ChatRequest::default()
    })
}

#[test]
fn cold_takes_the_likeliest_and_a_seed_repeats() {
    assert_eq!(sampling(0.0, None, None).choose(&LOGITS), Some(1));
    let draw = |seed| {
        let mut sampling = sampling(1.0, Some(seed), None);
        (0..200).filter_map(|_| sampling.choose(&LOGITS)).collect::<Vec<u32>>()
    };
    assert_eq!(draw(7), draw(7));
    assert_ne!(draw(7), draw(8));
}

#[test]
fn a_penalty_is_paid_each_time_a_token_was_said_and_a_negative_one_is_a_premium() {
    let said = |penalty| {
        let mut sampling = sampling(0.0, None, penalty);
        (0..6).filter_map(|_| sampling.choose(&LOGITS)).collect::<Vec<u32>>()
    };
    // From 0, 2 and 1 with 0.75 less each time: 2, 1.25, 1, 0.5, 0.25, 0.
    assert_eq!(said(Some(0.75)), [1, 1, 2, 1, 2, 0]);
    for penalty in [None, Some(0.0), Some(-1.0)] {
        assert_eq!(said(penalty), [1; 6], "{penalty:?}");
    }
    let mut sampling = sampling(0.0, None, Some(-0.2));
    assert_eq!(sampling.choose(&[0.1, 0.0]), Some(0));
    assert_eq!(sampling.choose(&[0.0, 0.1]), Some(0));
}

#[test]
fn tokens_are_drawn_as_often_as_they_are_likely() {
    let mut sampling = sampling(0.5, Some(1), None);
    let mut counts = [0_u32; 4];
    for _ in 0..20_000 {
        counts[sampling.choose(&LOGITS).unwrap() as usize] += 1;
    }
    let weights = LOGITS.map(|logit| f64::from(logit / 0.5).exp());
    let sum: f64 = weights.iter().sum();
    for (count, weight) in counts.iter().zip(weights) {
        let (drawn, expected) = (f64::from(*count) / 20_000.0, weight / sum);
        assert!((drawn - expected).abs() < 0.015, "{drawn} drawn, {expected} expected");
    }
}

#[test]
fn numbers_that_are_none_choose_nothing() {
    assert_eq!(sampling(0.0, None, None).choose(&[0.0, f32::NAN]), None);
    assert_eq!(sampling(1.0, None, None).choose(&[]), None);
}

#[test]
fn the_likeliest_come_first_and_all_together_are_one() {
    let (chosen, top) = likelihoods(&LOGITS, 2, 2);
    assert_eq!(top.iter().map(|likely| likely.token).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(chosen, top[1]);
    let (_, all) = likelihoods(&LOGITS, 0, 99);
    assert_eq!(all.len(), 4);
    assert!((all.iter().map(|likely| likely.logprob.exp()).sum::<f64>() - 1.0).abs() < 1e-9);
}

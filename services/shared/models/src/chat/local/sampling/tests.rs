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
fn temperature_0_is_greedy_and_a_seed_is_deterministic() {
    assert_eq!(sampling(0.0, None, None).sample(&LOGITS), Some(1));
    let draw = |seed| {
        let mut sampling = sampling(1.0, Some(seed), None);
        (0..200).filter_map(|_| sampling.sample(&LOGITS)).collect::<Vec<u32>>()
    };
    assert_eq!(draw(7), draw(7));
    assert_ne!(draw(7), draw(8));
}

#[test]
fn the_frequency_penalty_lowers_logits_per_occurrence_and_a_negative_one_raises_them() {
    let sampled = |penalty| {
        let mut sampling = sampling(0.0, None, penalty);
        (0..6).filter_map(|_| sampling.sample(&LOGITS)).collect::<Vec<u32>>()
    };
    // Logits 0, 2 and 1, minus 0.75 per occurrence; the maxima are 2, 1.25, 1, 0.5, 0.25, 0.
    assert_eq!(sampled(Some(0.75)), [1, 1, 2, 1, 2, 0]);
    for penalty in [None, Some(0.0), Some(-1.0)] {
        assert_eq!(sampled(penalty), [1; 6], "{penalty:?}");
    }
    let mut sampling = sampling(0.0, None, Some(-0.2));
    assert_eq!(sampling.sample(&[0.1, 0.0]), Some(0));
    assert_eq!(sampling.sample(&[0.0, 0.1]), Some(0));
}

#[test]
fn sampling_frequencies_match_the_softmax() {
    let mut sampling = sampling(0.5, Some(1), None);
    let mut counts = [0_u32; 4];
    for _ in 0..20_000 {
        counts[sampling.sample(&LOGITS).unwrap() as usize] += 1;
    }
    let weights = LOGITS.map(|logit| f64::from(logit / 0.5).exp());
    let sum: f64 = weights.iter().sum();
    for (count, weight) in counts.iter().zip(weights) {
        let (drawn, expected) = (f64::from(*count) / 20_000.0, weight / sum);
        assert!((drawn - expected).abs() < 0.015, "{drawn} drawn, {expected} expected");
    }
}

#[test]
fn nan_and_empty_logits_sample_nothing() {
    assert_eq!(sampling(0.0, None, None).sample(&[0.0, f32::NAN]), None);
    assert_eq!(sampling(1.0, None, None).sample(&[]), None);
}

#[test]
fn top_logprobs_are_sorted_and_the_probabilities_sum_to_1() {
    let (sampled, top) = top_logprobs(&LOGITS, 2, 2);
    assert_eq!(top.iter().map(|scored| scored.token).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(sampled, top[1]);
    let (_, all) = top_logprobs(&LOGITS, 0, 99);
    assert_eq!(all.len(), 4);
    assert!((all.iter().map(|scored| scored.logprob.exp()).sum::<f64>() - 1.0).abs() < 1e-9);
}

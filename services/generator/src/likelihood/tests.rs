use super::*;

fn tokens(logprobs: &[f64]) -> Vec<TokenLogprobs> {
    logprobs
        .iter()
        .map(|logprob| TokenLogprobs {
            token: "t".to_owned(),
            logprob: *logprob,
            top: Vec::new(),
        })
        .collect()
}

#[test]
fn likelihood_is_the_geometric_mean_over_the_tokens_in_range() {
    let mut likelihood = Likelihood::default();
    assert_eq!(likelihood.of(&(0..9)), None);
    likelihood.take(0, &tokens(&[0.5_f64.ln(), f64::NAN]));
    likelihood.take(4, &tokens(&[0.125_f64.ln()]));
    likelihood.take(9, &tokens(&[-9999.0]));
    assert!((likelihood.of(&(0..9)).unwrap() - 0.25).abs() < 1e-9);
    assert!((likelihood.of(&(1..9)).unwrap() - 0.125).abs() < 1e-9);
    assert!(likelihood.of(&(0..10)).unwrap() > 1e-5);
    likelihood.forget();
    assert_eq!(likelihood.of(&(0..10)), None);
}

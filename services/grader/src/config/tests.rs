use super::*;

#[test]
fn the_default_needs_no_server() {
    let options = Options::parse_from(["emend-grader"]);
    assert_eq!(options.backend, BackendKind::Embedded);
    assert_eq!(options.chat.llm_concurrency.get(), 8);
    assert_eq!(options.llm.llm_batch_grading, 1);
    assert_eq!(options.service.listen.port(), 50052);
}

#[test]
fn a_threshold_beyond_a_probability_is_refused() {
    for wrong in ["1.5", "-0.1", "NaN", "half"] {
        let flag = format!("--llm-upper-threshold={wrong}");
        let error = Options::try_parse_from(["emend-grader", &flag])
            .unwrap_err()
            .to_string();
        assert!(error.contains("not a probability"), "{wrong}: {error}");
    }
}

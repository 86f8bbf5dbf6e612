use super::*;

#[test]
fn the_default_needs_no_server() {
    let options = Options::default();
    assert_eq!(options.backend, BackendKind::Keywords);
    assert_eq!(options.service.listen.port(), 50054);
}

#[test]
fn a_temperature_out_of_range_is_refused() {
    for wrong in ["2.1", "-1", "NaN", "warm"] {
        let flag = format!("--retry-temperature={wrong}");
        let error = Options::try_parse_from(["emend-rewriter", &flag])
            .unwrap_err()
            .to_string();
        assert!(error.contains("not a temperature"), "{wrong}: {error}");
    }
}

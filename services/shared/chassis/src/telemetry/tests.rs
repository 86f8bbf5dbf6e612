use super::*;

fn read(variables: &[(&str, &str)]) -> Result<TelemetryOptions, TelemetryError> {
    let options = ServiceOptions::default();
    TelemetryOptions::from_variables("emend-test", &options, |name| {
        variables
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn nothing_is_exported_unless_an_endpoint_is_named() {
    let options = read(&[]).unwrap();
    assert_eq!((options.traces, options.metrics, options.logs), (None, None, None));
    assert_eq!(options.service_name, "emend-test");
}

#[test]
fn one_endpoint_serves_all_signals_and_each_can_have_its_own() {
    let options = read(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:4317"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:4317"),
        ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
        ("OTEL_SERVICE_NAME", "grader-eu"),
    ])
    .unwrap();
    assert_eq!(options.traces.as_deref(), Some("http://traces:4317"));
    assert_eq!(options.metrics.as_deref(), Some("http://all:4317"));
    assert!((options.sample_ratio - 0.25).abs() < f64::EPSILON);
    assert_eq!(options.service_name, "grader-eu");
    let only_traces = read(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:4317")]).unwrap();
    assert_eq!((only_traces.metrics, only_traces.logs), (None, None));
    let disabled = read(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:4317"),
        ("OTEL_SDK_DISABLED", "true"),
    ]);
    assert_eq!(disabled.unwrap().traces, None);
}

#[test]
fn a_ratio_that_is_none_is_refused_by_name() {
    let error = read(&[("OTEL_TRACES_SAMPLER_ARG", "lots")]).unwrap_err();
    assert!(error.to_string().contains("OTEL_TRACES_SAMPLER_ARG is \"lots\""));
    assert!(read(&[("OTEL_TRACES_SAMPLER_ARG", "1.5")]).is_err());
}

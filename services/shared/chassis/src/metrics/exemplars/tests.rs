use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::{SpanId, TraceFlags, TraceId, TraceState};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use prometheus::Registry;

use super::*;

fn context(trace: u128, flags: TraceFlags) -> SpanContext {
    SpanContext::new(TraceId::from(trace), SpanId::from(7), flags, false, TraceState::NONE)
}

fn attributes(method: &str) -> [KeyValue; 2] {
    [
        KeyValue::new("rpc.method", method.to_owned()),
        KeyValue::new("http.response.status_code", 200),
    ]
}

#[test]
fn each_bucket_names_the_last_sampled_trace_that_fell_into_it() {
    let registry = Registry::new();
    let reader = crate::telemetry::prometheus_reader(&registry).unwrap();
    let provider = SdkMeterProvider::builder().with_reader(reader).build();
    let meter = provider.meter("test");
    let histogram = meter.f64_histogram("rpc.server.call.duration").with_unit("s");
    let histogram = histogram.with_boundaries(SECONDS.to_vec()).build();
    meter.u64_counter("emend.walks").build().add(3, &[]);
    let exemplars = Exemplars::default();
    let call = |method, millis, trace, flags| {
        let took = Duration::from_millis(millis);
        histogram.record(took.as_secs_f64(), &attributes(method));
        exemplars.keep(
            "rpc.server.call.duration",
            &attributes(method),
            took,
            &context(trace, flags),
        );
    };
    call("a\"b", 4, 1, TraceFlags::SAMPLED);
    call("a\"b", 5, 2, TraceFlags::SAMPLED);
    call("a\"b", 3, 3, TraceFlags::default());
    call("other", 90_000, 4, TraceFlags::SAMPLED);
    let written = exemplars.encode(&registry.gather()).unwrap();
    let line = |of: &str, bound: &str| {
        let (of, bound) = (format!("rpc_method=\"{of}\""), format!("le=\"{bound}\""));
        let found = |line: &&str| line.contains("_bucket{") && line.contains(&of) && line.contains(&bound);
        written.lines().find(found).unwrap().to_owned()
    };
    let first = line("a\\\"b", "0.005");
    let (sample, exemplar) = first.split_once(" # ").unwrap();
    assert!(sample.ends_with("} 3"), "{first}");
    let named = "{trace_id=\"00000000000000000000000000000002\",span_id=\"0000000000000007\"} 0.005 ";
    assert!(exemplar.starts_with(named), "the bound belongs to its bucket: {first}");
    assert!(!line("a\\\"b", "0.01").contains('#'));
    assert!(line("other", "+Inf").contains("00000004\",span_id=\"0000000000000007\"} 90 "));
    assert!(!line("other", "60").contains('#'));
    assert!(
        written.contains("# TYPE emend_walks counter\nemend_walks_total 3\n"),
        "{written}"
    );
    assert!(written.ends_with("\n# EOF\n"), "{written}");
    // Without exemplars it is the text that Prometheus had before, but for names of families and the end.
    let plain = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    let samples = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.split(" # ").next().unwrap().to_owned()).collect()
    };
    assert_eq!(samples(&written), samples(&plain));
}

#[test]
fn r15_series_beyond_the_most_have_no_exemplars() {
    let exemplars = Exemplars::default();
    for number in 0..MAX_SERIES + 5 {
        let attributes = [KeyValue::new("rpc.method", number.to_string())];
        let context = context(1, TraceFlags::SAMPLED);
        exemplars.keep("rpc.server.call.duration", &attributes, Duration::ZERO, &context);
    }
    assert_eq!(exemplars.0.lock().unwrap().len(), MAX_SERIES);
}

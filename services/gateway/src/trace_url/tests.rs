use super::*;

#[test]
fn an_address_of_traces_has_the_place_of_the_id_once() {
    for right in [
        "http://localhost:16686/trace/{traceId}",
        "https://grafana.example.com/explore?left={\"query\":\"{traceId}\"}",
        "https://traces.example.com/#/{traceId}?tab=spans",
    ] {
        let url: TraceUrl = right.parse().unwrap();
        assert_eq!(url.as_str(), right);
    }
    let long = format!("http://jaeger/{}{{traceId}}", "x".repeat(MAX_BYTES));
    for (wrong, why) in [
        ("http://jaeger/trace", "has {traceId} 0 times, and needs it once"),
        ("http://jaeger/{traceid}", "has {traceId} 0 times"),
        ("http://jaeger/{traceId}/{traceId}", "has {traceId} 2 times"),
        ("/trace/{traceId}", "is not the address of a page"),
        ("javascript:alert({traceId})", "begins with `javascript:`"),
        ("file:///{traceId}", "only http and https"),
        ("http://{traceId}.example.com/", "in its host"),
        (&long, "at most 2048 are taken"),
    ] {
        let error = wrong.parse::<TraceUrl>().unwrap_err().to_string();
        assert!(error.contains(why), "{wrong}: {error}");
        assert!(
            error.starts_with("--trace-url ") && error.ends_with("/trace/{traceId}"),
            "{error}"
        );
    }
}

#[test]
fn an_address_with_a_password_is_refused_without_showing_it() {
    for wrong in [
        "http://user:pl4nted@jaeger/{traceId}",
        "http://pl4nted@jaeger/{traceId}",
    ] {
        let error = wrong.parse::<TraceUrl>().unwrap_err().to_string();
        assert!(error.contains("a user or a password"), "{error}");
        assert!(!error.contains("pl4nted"), "{error}");
    }
}

use super::*;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()))
        .collect()
}

#[test]
fn a_caller_gives_its_time_in_two_ways() {
    let default = Duration::from_secs(60);
    for (given, seconds) in [
        (&[("x-request-timeout", "10")][..], 10),
        (&[("x-request-timeout", "10s")], 10),
        (&[("grpc-timeout", "10S")], 10),
        (&[("x-request-timeout", "20s"), ("grpc-timeout", "10000m")], 10),
        (&[], 60),
    ] {
        let left = deadline(&headers(given), default).unwrap().remaining();
        let most = Duration::from_secs(seconds);
        assert!(
            left <= most && left > most - Duration::from_secs(5),
            "{given:?}: {left:?}"
        );
    }
}

#[test]
fn a_wrong_time_is_named() {
    for (name, value) in [
        ("x-request-timeout", "soon"),
        ("x-request-timeout", "0"),
        ("x-request-timeout", "-1"),
        ("x-request-timeout", "inf"),
        ("x-request-timeout", "2h"),
        ("grpc-timeout", "30s"),
    ] {
        let problem = deadline(&headers(&[(name, value)]), Duration::from_secs(1)).unwrap_err();
        assert_eq!(problem.errors[0].field, name, "{value}");
        assert!(problem.detail.contains(value), "{}", problem.detail);
    }
}

#[test]
fn the_key_is_passed_on_and_not_shown() {
    let request = call(
        &headers(&[("authorization", "Bearer secret-1")]),
        (),
        Deadline::after(Duration::from_secs(1)),
    );
    assert_eq!(request.metadata().get("authorization").unwrap(), "Bearer secret-1");
    assert!(!format!("{:?}", request.metadata()).contains("secret-1"));
}

#[test]
fn the_first_type_that_there_is_is_wanted() {
    for (accept, expected) in [
        ("text/event-stream", Wanted::Events),
        ("text/html, application/json;q=0.9, */*", Wanted::Json),
        ("application/x-ndjson", Wanted::Lines),
        ("image/png", Wanted::Json),
    ] {
        assert_eq!(wanted(&headers(&[("accept", accept)])), expected, "{accept}");
    }
}

async fn read_json(text: String, content_type: &str) -> Result<Bytes, Problem> {
    let headers = headers(&[("content-type", content_type)]);
    json(&Memory::new(16), &headers, Body::from(text))
        .await
        .map(|(text, _)| text)
}

#[tokio::test]
async fn a_body_has_bounds() {
    assert_eq!(
        read_json("{}".to_owned(), "application/json; charset=utf-8")
            .await
            .unwrap(),
        "{}"
    );
    assert_eq!(
        read_json("{}".to_owned(), "text/plain").await.unwrap_err().status(),
        415
    );
    let long = format!("\"{}\"", "a".repeat(MAX_JSON_BYTES));
    assert_eq!(read_json(long, "application/json").await.unwrap_err().status(), 413);
    let many = format!("[{}0]", "{},".repeat(MAX_JSON_VALUES));
    let problem = read_json(many, "application/json").await.unwrap_err();
    assert!(problem.detail.contains("values"), "{}", problem.detail);
    let text = format!("[\"{}\"]", ",\\\"[".repeat(MAX_JSON_VALUES));
    assert!(
        read_json(text, "application/json").await.is_ok(),
        "a string is one value"
    );
}

#[tokio::test]
async fn a_body_that_the_memory_has_no_room_for_is_refused() {
    let memory = Memory::new(1);
    let headers = headers(&[("content-type", "application/json")]);
    let long = format!("\"{}\"", "a".repeat(MAX_JSON_BYTES / 2));
    let problem = json(&memory, &headers, Body::from(long)).await.unwrap_err();
    assert_eq!(problem.status(), 429);
}

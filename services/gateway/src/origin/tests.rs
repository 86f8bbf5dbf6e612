use super::*;

fn policy(listens_on: &str, origins: &[&str], hosts: &[&str]) -> OriginPolicy {
    let options = BrowserOptions {
        cors_origins: origins.iter().map(|origin| origin.parse().unwrap()).collect(),
        allowed_hosts: hosts.iter().map(|host| host.parse().unwrap()).collect(),
    };
    OriginPolicy::new(&options, listens_on.parse().unwrap())
}

/// The status that a request is refused with, 0 for none.
fn status(policy: &OriginPolicy, host: &str, origin: Option<&str>) -> u16 {
    let mut request = Request::post("/v1/ask").header(HOST, host);
    if let Some(origin) = origin {
        request = request.header(ORIGIN, origin);
    }
    let refused = policy.check(&request.body(Body::empty()).unwrap());
    refused.err().map_or(0, |response| response.status().as_u16())
}

#[test]
fn on_loopback_only_local_names_are_ours() {
    let policy = policy("127.0.0.1", &[], &["emend.test"]);
    for ours in [
        "localhost:50056",
        "127.0.0.1:50056",
        "[::1]:80",
        "LOCALHOST",
        "emend.test",
    ] {
        assert_eq!(status(&policy, ours, None), 0, "{ours}");
    }
    for rebound in [
        "evil.example:50056",
        "localhost.evil.example",
        "",
        "127.0.0.1.evil.example",
    ] {
        assert_eq!(status(&policy, rebound, None), 421, "{rebound}");
    }
}

#[test]
fn on_other_addresses_every_name_is_ours_unless_some_are_named() {
    assert_eq!(status(&policy("0.0.0.0", &[], &[]), "emend.example", None), 0);
    let named = policy("0.0.0.0", &[], &["emend.example"]);
    assert_eq!(status(&named, "emend.example:443", None), 0);
    assert_eq!(status(&named, "other.example", None), 421);
}

#[test]
fn pages_of_other_origins_are_refused_unless_they_are_named() {
    let policy = policy("127.0.0.1", &["https://app.example"], &[]);
    let host = "localhost:50056";
    assert_eq!(status(&policy, host, Some("http://localhost:50056")), 0);
    assert_eq!(status(&policy, host, Some("https://app.example")), 0);
    for other in [
        "https://evil.example",
        "null",
        "http://localhost:3000",
        "https://app.example:8443",
    ] {
        assert_eq!(status(&policy, host, Some(other)), 403, "{other}");
    }
}

#[test]
fn a_named_origin_is_told_what_it_may_do_and_others_are_not() {
    let named = policy("127.0.0.1", &["https://app.example"], &[]);
    let asks = |origin: &str| {
        Request::builder()
            .method(Method::OPTIONS)
            .uri("/v1/ask")
            .header(HOST, "localhost")
            .header(ORIGIN, origin)
            .header(ACCESS_CONTROL_REQUEST_METHOD, "POST")
            .body(Body::empty())
            .unwrap()
    };
    let allowed = named.check(&asks("https://app.example")).unwrap_err();
    assert_eq!(allowed.status(), 204);
    assert_eq!(allowed.headers()[ACCESS_CONTROL_ALLOW_METHODS], ALLOWED_METHODS);
    assert_eq!(named.check(&asks("https://evil.example")).unwrap_err().status(), 403);

    let mut headers = HeaderMap::new();
    named.allow(Some(&HeaderValue::from_static("https://app.example")), &mut headers);
    assert_eq!(headers[ACCESS_CONTROL_ALLOW_ORIGIN], "https://app.example");
    let mut headers = HeaderMap::new();
    policy("127.0.0.1", &[], &[]).allow(Some(&HeaderValue::from_static("http://localhost")), &mut headers);
    assert!(headers.is_empty(), "CORS is off: {headers:?}");
}

mod searx;

use std::time::Duration;

use emend_core::{Code, Deadline, Secret, ServiceError as _};
use emend_testkit::http_server::{HttpAnswer, HttpServer, response};
use emend_testkit::scope;
use emend_testkit::spans::Spans;
use serde_json::json;

use super::*;
use emend_pages::{Domain, DomainFilter};

const KEY: &str = "key-1234";

fn engines(server: &HttpServer) -> [Box<dyn Engine>; 3] {
    let key = || Secret::from(KEY.to_owned());
    [
        Box::new(Tavily::new(server.url(), key()).unwrap()),
        Box::new(Brave::new(&format!("{}/res/v1/", server.url()), key()).unwrap()),
        Box::new(SearxNg::new(server.url()).unwrap()),
    ]
}

fn search(query: &str) -> Search {
    Search {
        query: query.to_owned(),
        max_results: 4,
        domains: DomainFilter {
            allowed: vec![Domain::parse("a.example").unwrap()],
            blocked: Vec::new(),
        },
    }
}

/// The same two results in the form of each engine, and one that is no page.
async fn results() -> HttpServer {
    HttpServer::start(|_, request| {
        let body = if request.head.contains("/res/v1/") {
            json!({ "web": { "results": [
                { "url": "https://a.example/1", "title": "One", "description": "first", "extra_snippets": ["more"] },
                { "url": "https://a.example/2", "title": "Two", "description": "second", "page_age": "2026-01-02" },
                { "url": "javascript:alert(1)", "title": "Three", "description": "third" },
            ] } })
        } else if request.head.starts_with("POST") {
            json!({ "query": "q", "results": [
                { "url": "https://a.example/1", "title": "One", "content": "first\nmore", "score": 0.9 },
                { "url": "https://a.example/2", "title": "Two", "content": "second", "published_date": "2026-01-02" },
                { "url": "mailto:a@example.com", "title": "Three", "content": "third" },
            ] })
        } else {
            json!({ "query": "q", "results": [
                { "url": "https://a.example/1", "title": "One", "content": "first\nmore", "engine": "x" },
                { "url": "https://a.example/2", "title": "Two", "content": "second", "publishedDate": "2026-01-02" },
                { "url": null, "title": "Three", "content": "third" },
            ] })
        };
        HttpAnswer::response("200 OK", "content-type: application/json\r\n", &body.to_string())
    })
    .await
}

#[tokio::test]
async fn each_engine_is_asked_in_its_own_way_and_finds_the_same() {
    let server = results().await;
    for (number, engine) in engines(&server).iter().enumerate() {
        let found = engine.find(&search("how do  kettles\nboil?"), &scope()).await.unwrap();
        let texts: Vec<_> = found
            .iter()
            .map(|result| {
                (
                    result.url.as_str(),
                    result.title.as_str(),
                    result.snippet.as_str(),
                    result.published.as_deref(),
                )
            })
            .collect();
        assert_eq!(
            texts,
            [
                ("https://a.example/1", "One", "first\nmore", None),
                ("https://a.example/2", "Two", "second", Some("2026-01-02")),
            ],
            "{}",
            engine.name()
        );
        let request = &server.requests()[number];
        let head = request.head.to_lowercase();
        match engine.name() {
            "tavily" => {
                assert!(
                    head.starts_with("post /search ") && head.contains("authorization: bearer key-1234"),
                    "{head}"
                );
                let body = request.json();
                assert_eq!(
                    (&body["query"], &body["max_results"]),
                    (&json!("how do kettles boil?"), &json!(6))
                );
                assert_eq!(body["include_domains"], json!(["a.example"]));
            }
            "brave" => {
                let path = "get /res/v1/web/search?q=how+do+kettles+boil%3f&count=6&";
                assert!(
                    head.starts_with(path) && head.contains("x-subscription-token: key-1234"),
                    "{head}"
                );
            }
            _ => assert!(
                head.starts_with("get /search?q=how+do+kettles+boil%3f&format=json "),
                "{head}"
            ),
        }
    }
}

#[tokio::test]
async fn what_goes_wrong_is_told_without_query_and_key() {
    let cases: [(&str, Vec<u8>, Code, &str); 18] = [
        (
            "401",
            response("401 Unauthorized", "", "no"),
            Code::FailedPrecondition,
            "refuses access (HTTP 401)",
        ),
        (
            "403",
            response("403 Forbidden", "", "no"),
            Code::FailedPrecondition,
            "refuses access (HTTP 403)",
        ),
        (
            "429",
            response("429 Too Many", "retry-after: 7\r\n", ""),
            Code::ResourceExhausted,
            "no more searches",
        ),
        (
            "402",
            response("402 Payment Required", "", "no"),
            Code::FailedPrecondition,
            "refuses access (HTTP 402)",
        ),
        (
            "429 without a time",
            response("429 Too Many", "", ""),
            Code::ResourceExhausted,
            "no more searches",
        ),
        (
            "429 with an odd time",
            response("429 Too Many", "retry-after: soon\r\n", ""),
            Code::ResourceExhausted,
            "no more searches",
        ),
        (
            "432, the limit of a plan",
            response("432 Plan", "", "{\"detail\": {\"error\": \"sesame\"}}"),
            Code::ResourceExhausted,
            "no more searches",
        ),
        (
            "433, the limit of what is paid for",
            response("433 Paid", "", ""),
            Code::ResourceExhausted,
            "no more searches",
        ),
        (
            "500",
            response("500 Internal", "", "no"),
            Code::Unavailable,
            "it answered HTTP 500",
        ),
        (
            "502",
            response("502 Bad Gateway", "", "<html>"),
            Code::Unavailable,
            "it answered HTTP 502",
        ),
        (
            "503",
            response("503 Unavailable", "retry-after: 9\r\n", ""),
            Code::Unavailable,
            "it answered HTTP 503",
        ),
        ("empty", response("200 OK", "", ""), Code::Unavailable, "not its JSON"),
        (
            "another shape, with the query in it",
            response(
                "200 OK",
                "",
                "{\"results\": \"sesame\", \"web\": {\"results\": \"sesame\"}}",
            ),
            Code::Unavailable,
            "not its JSON",
        ),
        (
            "302",
            response("302 Found", "location: http://127.0.0.1:9/\r\n", ""),
            Code::Unavailable,
            "HTTP 302",
        ),
        (
            "html",
            response("200 OK", "content-type: text/html\r\n", "<html>"),
            Code::Unavailable,
            "not its JSON",
        ),
        (
            "cut",
            response("200 OK", "", "{\"results\": ["),
            Code::Unavailable,
            "not its JSON",
        ),
        (
            "large",
            response("200 OK", "", &" ".repeat((2 << 20) + 1)),
            Code::Unavailable,
            "longer than",
        ),
        (
            "broken",
            b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_vec(),
            Code::Unavailable,
            "cannot be reached",
        ),
    ];
    for (name, answer, code, words) in cases {
        let server = HttpServer::start(move |_, _| HttpAnswer::Bytes(vec![answer.clone()])).await;
        for engine in engines(&server) {
            let error = engine.find(&search("sesame"), &scope()).await.unwrap_err();
            let text = emend_core::error_chain(&error);
            assert_eq!(
                (error.code(), text.contains(words)),
                (code, true),
                "{name} {}: {text}",
                engine.name()
            );
            assert!(
                !text.contains("sesame") && !text.contains(KEY) && text.contains(engine.name()),
                "{text}"
            );
            assert_eq!(error.retry_after(), (name == "429").then_some(Duration::from_secs(7)));
        }
    }
}

#[tokio::test]
async fn to_find_nothing_is_no_error() {
    // By engine, Tavily, Brave and SearXNG: whether the reply is one of its shapes without results.
    for (body, is_reply) in [
        (r#"{"query": "sesame", "results": []}"#, [true; 3]),
        (r#"{"results": [], "web": {"results": []}}"#, [true; 3]),
        (
            r#"{"type": "search", "query": {"original": "sesame"}}"#,
            [false, true, false],
        ),
        (r#"{"results": [], "web": null}"#, [true; 3]),
        ("{}", [false, true, false]),
        ("null", [false; 3]),
        ("[]", [false, false, false]),
    ] {
        let server = HttpServer::start(move |_, _| HttpAnswer::response("200 OK", "", body)).await;
        for (engine, is_reply) in engines(&server).iter().zip(is_reply) {
            match engine.find(&search("sesame"), &scope()).await {
                Ok(found) => assert!(is_reply && found.is_empty(), "{} {body}", engine.name()),
                Err(error) => assert!(
                    !is_reply && error.code() == Code::Unavailable && !error.to_string().contains("sesame"),
                    "{} {body}: {error}",
                    engine.name()
                ),
            }
        }
    }
}

#[tokio::test]
async fn each_search_has_one_span_without_query_and_key() {
    let failing = [
        (response("401 Unauthorized", "", "no"), "401", "FAILED_PRECONDITION"),
        (response("429 Too Many", "", ""), "429", "RESOURCE_EXHAUSTED"),
        (
            response("302 Found", "location: /?sesame\r\n", ""),
            "302",
            "UNAVAILABLE",
        ),
        // The body breaks off.
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_vec(),
            "200",
            "UNAVAILABLE",
        ),
        (Vec::new(), "", "UNAVAILABLE"),
    ];
    for (answer, status, kind) in failing {
        let server = HttpServer::start(move |_, _| HttpAnswer::Bytes(vec![answer.clone()])).await;
        for engine in engines(&server) {
            let (spans, _guard) = Spans::keep_named("http");
            engine.find(&search("sesame"), &scope()).await.unwrap_err();
            assert_eq!(spans.of("http.response.status_code"), [status], "{}", engine.name());
            assert_eq!(spans.of("error.type"), [kind], "{}", engine.name());
        }
    }
    let server = results().await;
    let (spans, _guard) = Spans::keep_named("http");
    for engine in engines(&server) {
        engine.find(&search("sesame"), &scope()).await.unwrap();
    }
    assert_eq!(spans.of("otel.name"), ["POST", "GET", "GET"]);
    assert_eq!(spans.of("server.address"), ["127.0.0.1"; 3]);
    assert_eq!(spans.of("error.type"), [""; 3]);
    let text = spans.text();
    assert!(!text.contains("sesame") && !text.contains(KEY), "{text}");
}

#[tokio::test]
async fn an_engine_that_hangs_or_is_gone_is_unavailable() {
    let server = HttpServer::replying(Vec::new()).await;
    let hurried = Scope {
        deadline: Deadline::after(Duration::from_millis(50)),
        ..scope()
    };
    for engine in engines(&server) {
        let error = engine.find(&search("q"), &hurried).await.unwrap_err();
        assert!(error.to_string().contains("did not answer in time"), "{error}");
    }
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let error = SearxNg::new(&format!("http://{free}"))
        .unwrap()
        .find(&search("q"), &scope())
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
}

#[test]
fn addresses_are_checked_when_they_are_given() {
    for wrong in ["", "searx", "ftp://a.example", "http://"] {
        assert!(SearxNg::new(wrong).is_err(), "{wrong}");
    }
    let error = SearxNg::new("gopher://user:hunter2@a.example")
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(error.contains("a.example") && !error.contains("hunter2"), "{error}");
    assert!(Brave::new("http://a.example", Secret::from("a\nb".to_owned())).is_err());
}

#[test]
fn a_long_query_is_cut_after_a_word() {
    assert_eq!(sent_query(" a\n b "), "a b");
    let long = "kettle ".repeat(100);
    let sent = sent_query(&long);
    assert!(sent.chars().count() <= MAX_QUERY_CHARS && sent.ends_with("kettle"));
    assert_eq!(sent_query(&"주".repeat(1000)).chars().count(), MAX_QUERY_CHARS);
}

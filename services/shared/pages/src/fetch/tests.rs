use std::net::IpAddr;

use emend_testkit::http_server::{HttpAnswer, HttpServer};
use emend_testkit::spans::Spans;

use super::*;

const TEXT: &[&str] = &["text/plain"];
const PLAIN: &str = "content-type: text/plain\r\n";

/// A limit that only ends what never would.
const SHORT: Duration = Duration::from_millis(50);

fn domains(names: &[&str]) -> Vec<Domain> {
    names.iter().map(|name| Domain::parse(name).unwrap()).collect()
}

fn settings(server: &HttpServer) -> PageSettings {
    PageSettings {
        domains: DomainFilter::default(),
        ports: vec![at(server, "").port().unwrap()],
        allowed_networks: vec!["127.0.0.1/32".parse().unwrap()],
        max_bytes: 1000,
        ignores_robots: true,
    }
}

/// A fetcher to which every name is at 127.0.0.1, where pages may be.
fn fetcher(settings: PageSettings) -> PageFetcher {
    let lookup: Lookup = Arc::new(|_| Box::pin(async { Ok(vec![IpAddr::from([127, 0, 0, 1])]) }));
    PageFetcher::resolving_with(settings, lookup).unwrap()
}

fn at(server: &HttpServer, path: &str) -> Url {
    Url::parse(&format!("{}{path}", server.url())).unwrap()
}

/// A page of the server under another name of it.
fn under(server: &HttpServer, name: &str, path: &str) -> Url {
    let mut url = at(server, path);
    url.set_host(Some(name)).unwrap();
    url
}

async fn fetch(fetcher: &PageFetcher, url: Url) -> Result<String, PageError> {
    let fetched = fetcher.fetch(url, &DomainFilter::default(), TEXT).await?;
    Ok(String::from_utf8(fetched.bytes).unwrap())
}

fn path(head: &str) -> &str {
    head.split(' ').nth(1).unwrap()
}

#[tokio::test]
async fn a_page_that_takes_too_long_ends_at_the_limit_wherever_it_hangs() {
    let server = HttpServer::start(|_, request| match path(&request.head) {
        "/head" => HttpAnswer::Stuck(Vec::new()),
        "/within-head" => HttpAnswer::Stuck(vec![b"HTTP/1.1 200 OK\r\ncontent-".to_vec()]),
        "/body" => HttpAnswer::Stuck(vec![
            format!("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n{PLAIN}\r\n").into_bytes(),
            b"and then".to_vec(),
        ]),
        "/redirect" => HttpAnswer::response("302 Found", "location: /head\r\n", ""),
        _ => HttpAnswer::response("200 OK", PLAIN, "text"),
    })
    .await;
    let limited = fetcher(settings(&server)).within(SHORT);
    for path in ["/head", "/within-head", "/body", "/redirect"] {
        let error = fetch(&limited, at(&server, path)).await.unwrap_err();
        assert!(matches!(error, PageError::Timeout(SHORT)), "{path}: {error}");
        assert_eq!(error.to_string(), "it did not answer within 0.05 s");
    }
    assert_eq!(fetcher(settings(&server)).timeout, Duration::from_secs(10));
}

#[tokio::test]
async fn a_site_that_never_says_its_rules_has_not_refused() {
    for part in [
        Vec::new(),
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nUser-agent".to_vec(),
    ] {
        let server = HttpServer::start(move |_, _| HttpAnswer::Stuck(vec![part.clone()])).await;
        let settings = PageSettings {
            ignores_robots: false,
            ..settings(&server)
        };
        let error = fetch(&fetcher(settings).within(SHORT), at(&server, "/a"))
            .await
            .unwrap_err();
        assert!(matches!(error, PageError::Timeout(SHORT)), "{error}");
    }
}

#[tokio::test]
async fn a_page_that_cannot_be_reached_says_why_and_not_what_was_asked() {
    let server = HttpServer::start(|_, _| HttpAnswer::Bytes(Vec::new())).await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let settings = PageSettings {
        ports: vec![port, at(&server, "").port().unwrap()],
        ..settings(&server)
    };
    let refused = Url::parse(&format!("http://127.0.0.1:{port}/?q=sesame")).unwrap();
    for (url, why) in [(refused, "refused"), (at(&server, "/?q=sesame"), "connection closed")] {
        let error = fetch(&fetcher(settings.clone()), url).await.unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, PageError::Unreachable(_)), "{text}");
        assert!(
            text.contains("cannot be reached") && text.contains(why) && !text.contains("sesame"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn the_domains_of_the_deployment_hold_for_the_first_address_and_across_redirects() {
    let server = HttpServer::start(|_, request| match path(&request.head).trim_start_matches("/to/") {
        "/" => HttpAnswer::response("200 OK", PLAIN, "text"),
        name => HttpAnswer::response("302 Found", &format!("location: http://{name}/\r\n"), ""),
    })
    .await;
    let port = at(&server, "").port().unwrap();
    let to = |from: &str, name: &str| under(&server, from, &format!("/to/{name}:{port}"));
    let of = |allowed: &[&str], blocked: &[&str]| {
        fetcher(PageSettings {
            domains: DomainFilter {
                allowed: domains(allowed),
                blocked: domains(blocked),
            },
            ..settings(&server)
        })
    };
    let allowing = of(&["docs.example"], &[]);
    let blocking = of(&[], &["ads.example"]);
    let both = of(&["example.com"], &["ads.example.com"]);
    for (fetcher, url, requests) in [
        (&allowing, under(&server, "other.example", "/"), 0),
        (&allowing, under(&server, "notdocs.example", "/"), 0),
        (&allowing, at(&server, "/"), 0),
        (&allowing, to("docs.example", "other.example"), 1),
        (&blocking, under(&server, "ads.example", "/"), 0),
        (&blocking, under(&server, "www.ADS.example.", "/"), 0),
        (&blocking, to("fine.example", "www.ads.example"), 1),
        (&both, under(&server, "ads.example.com", "/"), 0),
        (&both, to("docs.example.com", "ads.example.com"), 1),
    ] {
        let before = server.seen().requests;
        let error = fetch(fetcher, url.clone()).await.unwrap_err();
        assert!(
            matches!(error, PageError::Refused(why) if why.contains("domain")),
            "{url}: {error}"
        );
        assert_eq!(server.seen().requests - before, requests, "{url}");
        let is_first = requests == 0;
        assert_eq!(fetcher.admits(&url, &DomainFilter::default()), !is_first, "{url}");
    }
    for (fetcher, url) in [
        (&allowing, to("www.docs.example", "docs.example")),
        (&blocking, to("fine.example", "notads.example")),
        (&both, to("example.com", "docs.example.com")),
    ] {
        assert_eq!(fetch(fetcher, url).await.unwrap(), "text");
    }
    // Those of a request narrow them down and never widen them.
    let request = DomainFilter {
        allowed: domains(&["ads.example", "docs.example"]),
        blocked: Vec::new(),
    };
    assert!(!blocking.admits(&under(&server, "ads.example", "/"), &request));
    assert!(!allowing.admits(&under(&server, "ads.example", "/"), &request));
    assert!(allowing.admits(&under(&server, "docs.example", "/"), &request));
}

#[tokio::test]
async fn each_request_has_one_span_that_names_the_server_alone() {
    let server = HttpServer::start(|_, request| match path(&request.head) {
        "/robots.txt" => HttpAnswer::response("302 Found", "location: /rules?of=sesame\r\n", ""),
        "/a?q=sesame" => HttpAnswer::response("302 Found", "location: /b?q=sesame\r\n", ""),
        "/b?q=sesame" => HttpAnswer::response("200 OK", PLAIN, "text"),
        _ => HttpAnswer::response("404 Not Found", "", ""),
    })
    .await;
    let polite = fetcher(PageSettings {
        ignores_robots: false,
        ..settings(&server)
    });
    let (spans, _guard) = Spans::keep_named("http");
    fetch(&polite, at(&server, "/a?q=sesame#sesame")).await.unwrap();
    // The rules are asked for once, and redirect.
    assert_eq!(
        spans.of("http.response.status_code"),
        ["302", "404", "302", "200"],
        "{}",
        spans.text()
    );
    assert_eq!(spans.of("otel.name"), ["GET"; 4]);
    assert_eq!(spans.of("server.address"), ["127.0.0.1"; 4]);
    assert_eq!(spans.of("error.type"), [""; 4]);
    assert!(!spans.text().contains("sesame"), "{}", spans.text());
}

#[tokio::test]
async fn what_goes_wrong_with_a_request_or_its_body_stands_in_its_span() {
    let server = HttpServer::start(|_, request| match path(&request.head) {
        "/broken?sesame" => HttpAnswer::Bytes(vec![
            format!("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n{PLAIN}\r\nand").into_bytes(),
        ]),
        "/long?sesame" => HttpAnswer::response("200 OK", PLAIN, &"a".repeat(1001)),
        "/endless?sesame" => HttpAnswer::Endless(vec![
            format!("HTTP/1.1 200 OK\r\n{PLAIN}\r\n").into_bytes(),
            vec![b'a'; 1 << 10],
        ]),
        "/stuck?sesame" => HttpAnswer::Stuck(Vec::new()),
        _ => HttpAnswer::Bytes(Vec::new()),
    })
    .await;
    for (path, status, kind) in [
        ("/broken", "200", "unreachable"),
        ("/long", "200", "too_large"),
        ("/endless", "200", "too_large"),
        ("/closed", "", "unreachable"),
        ("/stuck", "", "timeout"),
    ] {
        let (spans, _guard) = Spans::keep_named("http");
        let patience = if path == "/stuck" { SHORT } else { PAGE_TIMEOUT };
        let patient = fetcher(settings(&server)).within(patience);
        let error = fetch(&patient, at(&server, &format!("{path}?sesame")))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), kind, "{path}");
        assert_eq!(spans.of("http.response.status_code"), [status], "{path}");
        assert_eq!(spans.of("error.type"), [kind], "{path}");
        assert_eq!(spans.of("otel.status_code"), ["ERROR"], "{path}");
        assert!(!spans.text().contains("sesame"), "{}", spans.text());
    }
    let (spans, _guard) = Spans::keep_named("http");
    let strict = fetcher(PageSettings {
        allowed_networks: Vec::new(),
        ..settings(&server)
    });
    fetch(&strict, under(&server, "inside.example", "/?sesame"))
        .await
        .unwrap_err();
    assert_eq!(spans.of("error.type"), ["not_public"]);
    // An address that is refused before it is asked for has no request and no span.
    fetch(&strict, at(&server, "/?sesame")).await.unwrap_err();
    assert_eq!(spans.of("error.type").len(), 1);
}

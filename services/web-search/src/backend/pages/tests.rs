use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use emend_pages::Lookup;
use emend_testkit::http_server::{HttpAnswer, HttpRequest, HttpServer};

use super::*;

const HTML: &str = "content-type: text/html; charset=utf-8\r\n";

/// Everything at 127.0.0.1 is allowed on any port of the server; every other name resolves to it too.
fn local(server: &HttpServer) -> PageReader {
    let settings = PageSettings {
        ports: vec![port(server), 80, 443],
        allowed_networks: vec!["127.0.0.1/32".parse().unwrap()],
        ..strict()
    };
    let lookup: Lookup = Arc::new(|_| Box::pin(async { Ok(vec!["127.0.0.1".parse().unwrap()]) }));
    PageReader(PageFetcher::resolving_with(settings, lookup).unwrap())
}

fn strict() -> PageSettings {
    PageSettings {
        domains: DomainFilter::default(),
        ports: vec![80, 443],
        allowed_networks: Vec::new(),
        max_bytes: MAX_PAGE_BYTES,
        ignores_robots: false,
    }
}

fn port(server: &HttpServer) -> u16 {
    Url::parse(server.url()).unwrap().port().unwrap()
}

fn result(url: &str) -> WebResult {
    WebResult {
        url: Url::parse(url).unwrap(),
        title: "Of the engine".to_owned(),
        snippet: String::new(),
        published: None,
    }
}

fn path(request: &HttpRequest) -> &str {
    request.head.split(' ').nth(1).unwrap()
}

/// A site without robots.txt that answers as `answer` says.
async fn site(answer: impl Fn(&str) -> HttpAnswer + Send + Sync + 'static) -> HttpServer {
    HttpServer::start(move |_, request| match path(request) {
        "/robots.txt" => HttpAnswer::response("404 Not Found", "", ""),
        path => answer(path),
    })
    .await
}

async fn read(reader: &PageReader, url: &str) -> Result<Page, PageError> {
    reader.read(&result(url), &DomainFilter::default()).await
}

fn kind(outcome: Result<Page, PageError>) -> &'static str {
    outcome.map_or_else(|error| error.kind(), |_| "read")
}

#[tokio::test]
async fn a_page_is_read_with_its_title_its_main_text_and_its_date() {
    let html = "<title>Kettles</title><nav>Home</nav><main><h1>Kettles</h1><p>A kettle boils water.</p></main>";
    let server = site(move |_| HttpAnswer::response("200 OK", HTML, html)).await;
    let reader = local(&server);
    let result = WebResult {
        published: Some("2026-01-02".to_owned()),
        ..result(&format!("{}/kettle", server.url()))
    };
    let page = reader.read(&result, &DomainFilter::default()).await.unwrap();
    assert_eq!(
        (page.title.as_str(), page.text.as_str()),
        ("Kettles", "Kettles\n\nA kettle boils water.")
    );
    assert_eq!(page.metadata["published"], "2026-01-02");
    let request = &server.requests()[1];
    assert!(request.head.contains(emend_core::http::USER_AGENT) && !request.head.to_lowercase().contains("referer"));
}

#[tokio::test]
async fn the_date_of_a_page_is_its_own_before_that_of_the_engine() {
    let own = "<meta property='article:published_time' content='2025-12-24'><p>A kettle boils water.";
    let server = site(move |_| HttpAnswer::response("200 OK", HTML, own)).await;
    let url = format!("{}/kettle", server.url());
    for published in [None, Some("2026-01-02".to_owned())] {
        let result = WebResult {
            published,
            ..result(&url)
        };
        let page = local(&server).read(&result, &DomainFilter::default()).await.unwrap();
        assert_eq!(page.metadata["published"], "2025-12-24");
    }
}

#[tokio::test]
async fn charsets_and_plain_text_are_read() {
    let server = HttpServer::start(|_, request| {
        let (headers, body): (&str, &[u8]) = match path(request) {
            "/latin" => ("content-type: text/html; charset=iso-8859-1", b"<p>caf\xe9"),
            "/meta" => (
                "content-type: text/html",
                b"<meta charset=euc-kr><p>\xc1\xd6\xc0\xfc\xc0\xda",
            ),
            "/plain" => ("content-type: text/plain", b"a < b"),
            _ => return HttpAnswer::response("404 Not Found", "", ""),
        };
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n{headers}\r\n\r\n", body.len());
        HttpAnswer::Bytes(vec![head.into_bytes(), body.to_vec()])
    })
    .await;
    let reader = local(&server);
    for (path, text) in [("latin", "café"), ("meta", "주전자"), ("plain", "a < b")] {
        let page = read(&reader, &format!("{}/{path}", server.url())).await.unwrap();
        assert_eq!(page.text, text);
    }
}

/// Ways to an address that is not public. `PORT` is that of a server on 127.0.0.1 which must never be asked.
const PRIVATE: &[&str] = &[
    "http://127.0.0.1:PORT/",
    "http://127.1:PORT/",
    "http://0x7f.0.0.1:PORT/",
    "http://0x7f000001:PORT/",
    "http://2130706433:PORT/",
    "http://017700000001:PORT/",
    "http://0177.0.0.1:PORT/",
    "http://127.0.0.1.:PORT/",
    "http://１２７.０.０.１:PORT/",
    "http://127。0。0。1:PORT/",
    "http://%31%32%37.0.0.1:PORT/",
    "http://[::1]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[::ffff:7f00:1]:PORT/",
    "http://[0:0:0:0:0:ffff:7f00:0001]:PORT/",
    "http://[64:ff9b::7f00:1]:PORT/",
    "http://[2002:7f00:1::]:PORT/",
    "http://0.0.0.0:PORT/",
    "http://0:PORT/",
    "http://[::]:PORT/",
    "http://localhost:PORT/",
    "http://LOCALHOST.:PORT/",
    "http://a.localhost:PORT/",
    "http://metadata.google.internal:PORT/computeMetadata/v1/",
    "http://rebinding.example:PORT/",
    "https://localhost:PORT/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://100.100.100.200/latest/meta-data/",
    "http://10.0.0.1/",
    "http://192.168.0.1/",
    "http://172.16.0.1/",
];

/// URLs that are not fetched whatever they point to.
const REFUSED: &[&str] = &[
    "file:///etc/passwd",
    "ftp://example.com/",
    "gopher://127.0.0.1:PORT/",
    "data:text/html,hello",
    "http://user@example.com/",
    "http://example.com:secret@127.0.0.1:PORT/",
    "http://example.com:22/",
    "http://example.com:6379/",
];

#[tokio::test]
async fn no_way_leads_to_an_address_that_is_not_public() {
    let inside = site(|_| HttpAnswer::response("200 OK", HTML, "secret")).await;
    let settings = PageSettings {
        ports: vec![80, 443, port(&inside)],
        ..strict()
    };
    // What a hostile name server says: every name is here.
    let lookup: Lookup =
        Arc::new(|_| Box::pin(async { Ok(vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()]) }));
    let reader = PageReader(PageFetcher::resolving_with(settings, lookup).unwrap());
    let with_port = |url: &str| url.replace("PORT", &port(&inside).to_string());
    for (urls, kinds) in [(PRIVATE, ["not_public", "robots"]), (REFUSED, ["refused"; 2])] {
        for url in urls {
            let outcome = kind(read(&reader, &with_port(url)).await);
            assert!(kinds.contains(&outcome), "{url}: {outcome}");
        }
    }
    assert_eq!(inside.seen().requests, 0);
}

/// A port of 127.0.0.2 that leads to `server`.
async fn beside(server: &HttpServer) -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.2:0").await.unwrap();
    let (outer, inner) = (listener.local_addr().unwrap().port(), port(server));
    tokio::spawn(async move {
        while let Ok((mut outer, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut inner = tokio::net::TcpStream::connect(("127.0.0.1", inner)).await.unwrap();
                tokio::io::copy_bidirectional(&mut outer, &mut inner).await.ok();
            });
        }
    });
    outer
}

#[tokio::test]
async fn no_redirect_leads_to_an_address_that_is_not_public() {
    let inside = site(|_| HttpAnswer::response("200 OK", HTML, "secret")).await;
    let inside_port = port(&inside);
    let targets: Vec<String> = PRIVATE
        .iter()
        .chain(REFUSED)
        .map(|url| url.replace("PORT", &inside_port.to_string()))
        .collect();
    let locations = targets.clone();
    let outside = site(move |path| {
        let number: usize = path.trim_start_matches('/').parse().unwrap();
        // A header is ASCII: the browser's form of the address.
        let location = Url::parse(&locations[number]).unwrap();
        HttpAnswer::response("302 Found", &format!("location: {location}\r\n"), "")
    })
    .await;
    let outside_port = beside(&outside).await;
    let settings = PageSettings {
        ports: vec![80, 443, outside_port, inside_port],
        allowed_networks: vec!["127.0.0.2/32".parse().unwrap()],
        ignores_robots: true,
        ..strict()
    };
    // Only the outside has an allowed address, by a name: every other name is at 127.0.0.1.
    let lookup: Lookup = Arc::new(|name| {
        let address = if name == "outside.example" {
            "127.0.0.2"
        } else {
            "127.0.0.1"
        };
        Box::pin(async move { Ok(vec![address.parse().unwrap()]) })
    });
    let reader = PageReader(PageFetcher::resolving_with(settings, lookup).unwrap());
    for (number, target) in targets.iter().enumerate() {
        let url = format!("http://outside.example:{outside_port}/{number}");
        let outcome = kind(read(&reader, &url).await);
        assert!(["not_public", "refused"].contains(&outcome), "{target}: {outcome}");
    }
    assert_eq!((inside.seen().requests, outside.seen().requests), (0, targets.len()));
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_checked_at_every_connection() {
    let server = site(|_| HttpAnswer::response("200 OK", HTML, "text")).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let lookup: Lookup = Arc::new(move |_| {
        // Allowed when it is checked first, something else from then on.
        let first = counter.fetch_add(1, Ordering::Relaxed) == 0;
        let address = if first { "127.0.0.1" } else { "127.0.0.9" };
        Box::pin(async move { Ok(vec![address.parse().unwrap()]) })
    });
    let settings = PageSettings {
        ports: vec![port(&server)],
        allowed_networks: vec!["127.0.0.1/32".parse().unwrap()],
        ignores_robots: true,
        ..strict()
    };
    let reader = PageReader(PageFetcher::resolving_with(settings, lookup).unwrap());
    let url = format!("http://rebinding.example:{}/", port(&server));
    // The server closes each connection, so that none is used again.
    assert_eq!(kind(read(&reader, &url).await), "read");
    assert_eq!(kind(read(&reader, &url).await), "not_public");
    assert_eq!((asked.load(Ordering::Relaxed), server.seen().requests), (2, 1));
}

#[tokio::test]
async fn redirects_are_followed_and_end() {
    let server = site(|path| match path {
        "/a" => HttpAnswer::response("301 Moved", "location: /b\r\n", ""),
        "/b" => HttpAnswer::response("200 OK", HTML, "here"),
        _ => HttpAnswer::response("302 Found", "location: /loop\r\n", ""),
    })
    .await;
    let reader = local(&server);
    let page = read(&reader, &format!("{}/a", server.url())).await.unwrap();
    assert_eq!((page.url.path(), page.text.as_str()), ("/b", "here"));
    let before = server.seen().requests;
    assert_eq!(
        kind(read(&reader, &format!("{}/loop", server.url())).await),
        "redirects"
    );
    assert_eq!(server.seen().requests - before, 1 + 5);
}

#[tokio::test]
async fn a_redirect_out_of_the_admitted_domains_is_not_followed() {
    let server = site(|_| HttpAnswer::response("302 Found", "location: http://other.example/\r\n", "")).await;
    let domains = DomainFilter {
        allowed: vec![Domain::parse("127.0.0.1").unwrap()],
        blocked: Vec::new(),
    };
    let outcome = local(&server)
        .read(&result(&format!("{}/x", server.url())), &domains)
        .await;
    assert_eq!(kind(outcome), "refused");
}

#[tokio::test]
async fn what_is_no_page_is_not_read() {
    // A few kilobytes on the wire.
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    bomb.write_all(&vec![b'a'; MAX_PAGE_BYTES + 1]).unwrap();
    let bomb = bomb.finish().unwrap();
    assert!(bomb.len() < MAX_PAGE_BYTES / 50);
    let server = site(move |path| match path {
        "/image" => HttpAnswer::response("200 OK", "content-type: image/png\r\n", "x"),
        "/gone" => HttpAnswer::response("410 Gone", HTML, "gone"),
        "/empty" => HttpAnswer::response("200 OK", HTML, "<p>…</p>"),
        "/large" => HttpAnswer::Bytes(vec![
            b"HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\ncontent-type: text/html\r\n\r\n<p>".to_vec(),
        ]),
        "/endless" => {
            let mut parts = vec![b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n".to_vec()];
            parts.extend(std::iter::repeat_n(vec![b'a'; 1 << 16], 40));
            HttpAnswer::Bytes(parts)
        }
        _ => {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\ncontent-encoding: gzip\r\ncontent-type: text/html\r\n\r\n",
                bomb.len()
            );
            HttpAnswer::Bytes(vec![head.into_bytes(), bomb.clone()])
        }
    })
    .await;
    let reader = local(&server);
    for (path, expected) in [
        ("image", "content_type"),
        ("gone", "status"),
        ("empty", "empty"),
        ("large", "too_large"),
        ("endless", "too_large"),
        ("bomb", "too_large"),
    ] {
        assert_eq!(
            kind(read(&reader, &format!("{}/{path}", server.url())).await),
            expected,
            "{path}"
        );
    }
}

#[tokio::test]
async fn robots_txt_is_asked_once_and_obeyed() {
    let rules = "User-agent: *\nDisallow: /\n\nUser-agent: emend\nDisallow: /private\n";
    let server = HttpServer::start(move |_, request| match path(request) {
        "/robots.txt" => HttpAnswer::response("200 OK", "", rules),
        _ => HttpAnswer::response("200 OK", HTML, "text"),
    })
    .await;
    let reader = local(&server);
    for (path, expected) in [("private/x", "robots"), ("public", "read"), ("private", "robots")] {
        assert_eq!(
            kind(read(&reader, &format!("{}/{path}", server.url())).await),
            expected,
            "{path}"
        );
    }
    assert_eq!(server.seen().requests, 2);
    let ignoring = PageReader::new(PageSettings {
        ports: vec![port(&server)],
        allowed_networks: vec!["127.0.0.1/32".parse().unwrap()],
        ignores_robots: true,
        ..strict()
    })
    .unwrap();
    assert_eq!(
        kind(read(&ignoring, &format!("{}/private", server.url())).await),
        "read"
    );
}

#[tokio::test]
async fn a_site_whose_robots_txt_cannot_be_had_is_left_alone() {
    for (status, expected) in [
        ("503 Unavailable", "robots"),
        ("403 Forbidden", "read"),
        ("302 Found", "read"),
    ] {
        let server = HttpServer::start(move |_, request| match path(request) {
            "/robots.txt" => HttpAnswer::response(status, "", ""),
            _ => HttpAnswer::response("200 OK", HTML, "text"),
        })
        .await;
        assert_eq!(
            kind(read(&local(&server), &format!("{}/x", server.url())).await),
            expected,
            "{status}"
        );
    }
}

#[tokio::test]
async fn a_site_is_asked_for_its_rules_again_when_it_could_not_answer() {
    let asked = AtomicUsize::new(0);
    let server = HttpServer::start(move |_, request| match path(request) {
        "/robots.txt" if asked.fetch_add(1, Ordering::SeqCst) == 0 => HttpAnswer::response("503 Unavailable", "", ""),
        "/robots.txt" => HttpAnswer::response("404 Not Found", "", ""),
        _ => HttpAnswer::response("200 OK", HTML, "text"),
    })
    .await;
    let reader = local(&server);
    for expected in ["robots", "read"] {
        assert_eq!(kind(read(&reader, &format!("{}/x", server.url())).await), expected);
    }
}

#[tokio::test]
async fn of_a_long_robots_txt_the_beginning_counts() {
    let rules = format!("User-agent: *\nDisallow: /private\n{}", "# nothing\n".repeat(100_000));
    let server = HttpServer::start(move |_, request| match path(request) {
        "/robots.txt" => HttpAnswer::response("200 OK", "", &rules),
        _ => HttpAnswer::response("200 OK", HTML, "text"),
    })
    .await;
    let reader = local(&server);
    for (path, expected) in [("private", "robots"), ("public", "read")] {
        assert_eq!(kind(read(&reader, &format!("{}/{path}", server.url())).await), expected);
    }
}

#[tokio::test]
async fn no_robots_txt_leads_to_an_address_that_is_not_public() {
    let inside = HttpServer::start(|_, _| HttpAnswer::response("200 OK", "", "User-agent: *\nAllow: /\n")).await;
    let inside_port = port(&inside);
    for target in [
        "http://127.0.0.1:PORT/robots.txt",
        "http://inside.example:PORT/",
        "http://[::ffff:127.0.0.1]:PORT/",
    ] {
        let location = target.replace("PORT", &inside_port.to_string());
        let outside = HttpServer::start(move |_, request| match path(request) {
            "/robots.txt" => HttpAnswer::response("302 Found", &format!("location: {location}\r\n"), ""),
            _ => HttpAnswer::response("200 OK", HTML, "text"),
        })
        .await;
        let outside_port = beside(&outside).await;
        let settings = PageSettings {
            ports: vec![outside_port, inside_port],
            allowed_networks: vec!["127.0.0.2/32".parse().unwrap()],
            ..strict()
        };
        let lookup: Lookup = Arc::new(|name| {
            let last = if name == "outside.example" { 2 } else { 1 };
            Box::pin(async move { Ok(vec![[127, 0, 0, last].into()]) })
        });
        let reader = PageReader(PageFetcher::resolving_with(settings, lookup).unwrap());
        let url = format!("http://outside.example:{outside_port}/page");
        assert_eq!(kind(read(&reader, &url).await), "robots", "{target}");
        assert_eq!((inside.seen().requests, outside.seen().requests), (0, 1), "{target}");
    }
}

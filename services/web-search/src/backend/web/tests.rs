use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use emend_core::{Code, ServiceError as _};
use emend_proto::v1::Origin;
use emend_testkit::http_server::{HttpAnswer, HttpServer};
use url::Url;

use super::*;
use crate::backend::pages::MAX_PAGE_BYTES;
use emend_pages::DomainFilter;
use emend_pages::PageSettings;

/// An engine with fixed results, which counts its searches.
#[derive(Default)]
struct Fixed {
    results: Vec<WebResult>,
    searches: AtomicUsize,
    error: Mutex<Option<SearchError>>,
}

impl Engine for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn find<'a>(&'a self, _: &'a Search, _: &'a Scope) -> BoxFuture<'a, Result<Vec<WebResult>, SearchError>> {
        self.searches.fetch_add(1, Ordering::Relaxed);
        let error = self.error.lock().unwrap().take();
        std::future::ready(error.map_or_else(|| Ok(self.results.clone()), Err)).boxed()
    }
}

fn result(url: &str, snippet: &str) -> WebResult {
    WebResult {
        url: Url::parse(url).unwrap(),
        title: format!("Title of {url}"),
        snippet: snippet.to_owned(),
        published: Some("2026-01-02".to_owned()),
    }
}

fn web(engine: Fixed, server: &HttpServer) -> (Arc<Fixed>, Web) {
    let port = Url::parse(server.url()).unwrap().port().unwrap();
    keeping(engine, port, Duration::from_secs(3600))
}

/// As [`web`], with pages at this port, keeping results for `ttl`.
fn keeping(engine: Fixed, port: u16, ttl: Duration) -> (Arc<Fixed>, Web) {
    let reader = PageReader::new(PageSettings {
        max_bytes: MAX_PAGE_BYTES,
        domains: DomainFilter::default(),
        ports: vec![port, 443],
        allowed_networks: vec!["127.0.0.1/32".parse().unwrap()],
        ignores_robots: true,
    });
    let engine = Arc::new(engine);
    let settings = WebSettings {
        rate: "100/s".parse().unwrap(),
        cache_ttl: ttl,
        cache_bytes: 1 << 20,
        passage_chars: 300,
    };
    let web = Web::new(
        Arc::clone(&engine) as Arc<dyn Engine>,
        Arc::new(reader.unwrap()),
        &settings,
    );
    (engine, web)
}

fn search(max_results: usize) -> Search {
    Search {
        query: "How do kettles boil water?".to_owned(),
        max_results,
        domains: DomainFilter::default(),
    }
}

async fn passages(web: &Web, search: Search) -> Vec<Passage> {
    web.search(search, emend_testkit::scope()).await.unwrap().passages
}

/// Two pages about kettles, and one that is gone.
async fn site() -> HttpServer {
    HttpServer::start(|_, request| {
        let filler = "Nothing of note happened on that day. ".repeat(20);
        let page = match request.head.split(' ').nth(1).unwrap() {
            "/one" => format!("<p>{filler}Kettles boil water with a coil. {filler}"),
            "/two" => "<p>A kettle boils water in two minutes.".to_owned(),
            _ => return HttpAnswer::response("404 Not Found", "", ""),
        };
        HttpAnswer::response("200 OK", "content-type: text/html\r\n", &page)
    })
    .await
}

#[tokio::test]
async fn pages_are_read_in_the_order_of_the_engine_and_a_snippet_stands_in_for_one_that_is_gone() {
    let server = site().await;
    let url = |path: &str| format!("{}/{path}", server.url());
    let results = vec![
        result(&url("gone"), "Kettles boil water, says the snippet."),
        result(&url("one"), "not shown"),
        result(&url("two"), "not shown"),
        result(&url("one"), "twice"),
        result(&url("other"), ""),
        result("http://10.0.0.1/", "Kettles boil water inside."),
        // Nobody is there, and nothing is known of it.
        result("https://127.0.0.1/", ""),
        result("https://127.0.0.1/two", "Kettles boil water out of reach."),
    ];
    let (_, web) = web(
        Fixed {
            results,
            ..Fixed::default()
        },
        &server,
    );
    let found = passages(&web, search(5)).await;
    let sources: Vec<&str> = found.iter().map(|passage| passage.source.as_str()).collect();
    let away = "https://127.0.0.1/two".to_owned();
    assert_eq!(sources, [url("gone"), url("one"), url("two"), away]);
    assert!(found.is_sorted_by(|a, b| a.score > b.score));
    assert_eq!(found[0].text, "Kettles boil water, says the snippet.");
    for snippet in [&found[0], &found[3]] {
        assert_eq!(snippet.metadata["read"], "snippet");
    }
    assert!(
        found[1].text.contains("with a coil") && found[1].text.chars().count() <= 300,
        "{}",
        found[1].text
    );
    for passage in &found {
        assert_eq!(passage.origin(), Origin::Web);
        assert!(passage.retrieved_at.is_some() && passage.metadata["published"] == "2026-01-02");
    }
}

#[tokio::test]
async fn the_same_search_is_made_once() {
    let server = site().await;
    let results = vec![
        result("https://10.0.0.1/", ""),
        result(&format!("{}/two", server.url()), ""),
    ];
    let (engine, web) = web(
        Fixed {
            results,
            ..Fixed::default()
        },
        &server,
    );
    let first = passages(&web, search(3)).await;
    assert_eq!((first.len(), passages(&web, search(3)).await == first), (1, true));
    assert_eq!(
        (engine.searches.load(Ordering::Relaxed), server.seen().requests),
        (1, 1)
    );
    passages(&web, search(2)).await;
    assert_eq!(engine.searches.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn results_are_kept_for_their_time_and_no_longer() {
    // Nothing is found, so that nothing is fetched, which the paused clock would run ahead of.
    for (ttl, searches) in [(60, [1, 1, 2, 2]), (0, [1, 2, 3, 4])] {
        let (engine, web) = keeping(Fixed::default(), 80, Duration::from_secs(ttl));
        for (wait, searches) in [0, 59, 1, 59].into_iter().zip(searches) {
            tokio::time::advance(Duration::from_secs(wait)).await;
            passages(&web, search(3)).await;
            assert_eq!(
                engine.searches.load(Ordering::Relaxed),
                searches,
                "{ttl} s, after {wait} s"
            );
        }
    }
}

#[tokio::test]
async fn an_error_is_not_kept_and_a_limit_pauses_the_engine() {
    let server = site().await;
    let (engine, web) = web(Fixed::default(), &server);
    *engine.error.lock().unwrap() = Some(SearchError::Unreachable {
        provider: "fixed",
        reason: "down".to_owned(),
    });
    let error = web.search(search(3), emend_testkit::scope()).await.unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    assert!(passages(&web, search(3)).await.is_empty());
    *engine.error.lock().unwrap() = Some(SearchError::RateLimited {
        provider: "fixed",
        retry_after: Some(Duration::from_secs(3000)),
    });
    for _ in 0..2 {
        let hurried = Scope {
            deadline: Deadline::after(Duration::from_secs(60)),
            ..emend_testkit::scope()
        };
        let error = web.search(search(5), hurried).await.unwrap_err();
        assert_eq!(error.code(), Code::ResourceExhausted);
        assert!(error.retry_after() > Some(Duration::from_secs(2900)));
    }
    // The last search never reached the engine.
    assert_eq!(engine.searches.load(Ordering::Relaxed), 3);
}

//! What is around every request.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::standin::{Fixture, PATIENCE};

#[tokio::test]
async fn requests_above_the_most_at_once_are_refused_and_probes_are_not() {
    let mut fixture = Fixture::start_with(|options| options.service.max_in_flight = 1).await;
    let asked = fixture.post("/v1/ask", &json!({"question": "HANG"})).send();
    let asking = tokio::spawn(asked);
    assert_eq!(fixture.hears().await, "began");
    let refused = fixture.get("/v1/graphs").send().await.unwrap();
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["retry-after"], "1");
    for probe in ["/livez", "/readyz"] {
        assert_eq!(fixture.get(probe).send().await.unwrap().status(), 200, "{probe}");
    }
    asking.abort();
    assert_eq!(fixture.hears().await, "dropped");
    // The place comes back with the end of the connection, which may be a moment later.
    let again = async {
        while fixture.get("/v1/graphs").send().await.unwrap().status() != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, again).await.unwrap();
}

#[tokio::test]
async fn the_index_and_the_openapi_document_are_there_and_nothing_else() {
    let fixture = Fixture::start().await;
    let index: Value = fixture
        .get("/")
        .header("accept", "application/json")
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(index["endpoints"][0], "POST /v1/ask");
    let document: Value = fixture.get("/openapi.json").send().await.unwrap().json().await.unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    let absent = fixture.get("/v2").send().await.unwrap();
    assert_eq!(absent.status(), 404);
    let problem: Value = absent.json().await.unwrap();
    assert_eq!(problem["code"], "NOT_FOUND");
    assert_eq!(fixture.get("/v1/ask").send().await.unwrap().status(), 405);
}

#[tokio::test]
async fn pages_of_others_are_refused() {
    let fixture = Fixture::start_with(|options| {
        options.browsers.cors_origins = vec!["https://app.example".parse().unwrap()];
    })
    .await;
    let from = |origin: &str| fixture.get("/v1/graphs").header("origin", origin);
    assert_eq!(from("https://evil.example").send().await.unwrap().status(), 403);
    let named = from("https://app.example").send().await.unwrap();
    assert_eq!(named.headers()["access-control-allow-origin"], "https://app.example");
    let own = from(&fixture.url).send().await.unwrap();
    assert_eq!(own.status(), 200);
    assert!(!own.headers().contains_key("access-control-allow-origin"));
    let rebound = fixture
        .get("/v1/graphs")
        .header("host", "evil.example")
        .send()
        .await
        .unwrap();
    assert_eq!(rebound.status(), 421);
}

/// A browser asks before it sends what a stub of gRPC-Web sends.
#[tokio::test]
async fn a_page_of_a_named_origin_is_told_that_it_may_call() {
    let fixture = Fixture::start_with(|options| {
        options.browsers.cors_origins = vec!["https://app.example".parse().unwrap()];
    })
    .await;
    let asks = |origin: &str| {
        let url = format!("{}/emend.v1.OrchestratorService/AskStream", fixture.url);
        fixture
            .client
            .request(reqwest::Method::OPTIONS, url)
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header(
                "access-control-request-headers",
                "content-type,grpc-timeout,x-grpc-web,x-user-agent",
            )
            .send()
    };
    let allowed = asks("https://app.example").await.unwrap();
    assert_eq!(allowed.status(), 204);
    let said = |name: &str| allowed.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(said("access-control-allow-origin"), "https://app.example");
    assert_eq!(said("access-control-allow-methods"), "GET, POST, DELETE");
    let headers = said("access-control-allow-headers");
    let headers: Vec<_> = headers.split(", ").collect();
    for header in [
        "authorization",
        "content-type",
        "grpc-timeout",
        "x-grpc-web",
        "x-user-agent",
    ] {
        assert!(headers.contains(&header), "{header}: {headers:?}");
    }
    assert_eq!(
        (said("access-control-max-age"), said("vary")),
        ("600".to_owned(), "origin".to_owned())
    );
    let refused = asks("https://evil.example").await.unwrap();
    assert_eq!(refused.status(), 403);
    assert!(!refused.headers().contains_key("access-control-allow-origin"));
    assert!(!refused.headers().contains_key("access-control-allow-methods"));
}

#[tokio::test]
async fn headers_have_a_largest_size() {
    let fixture = Fixture::start().await;
    let address = fixture.url.trim_start_matches("http://");
    let mut connection = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "GET /v1/graphs HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n",
        "x".repeat(200_000)
    );
    // The server may close before all is written.
    let _ = connection.write_all(head.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, connection.read_to_end(&mut answer))
        .await
        .unwrap();
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[tokio::test]
async fn a_gateway_that_stops_lets_requests_end_and_is_not_ready() {
    let mut fixture = Fixture::start_with(|options| {
        options.service.drain_timeout = std::time::Duration::from_millis(100);
    })
    .await;
    let asked = fixture.post("/v1/ask", &json!({"question": "HANG"})).send();
    let asking = tokio::spawn(asked);
    assert_eq!(fixture.hears().await, "began");
    fixture.shutdown.cancel();
    let ended = tokio::time::timeout(PATIENCE, fixture.served).await.unwrap().unwrap();
    assert!(ended.unwrap_err().to_string().contains("cut off"));
    assert!(asking.await.unwrap().is_err());

    let fixture = Fixture::start().await;
    assert_eq!(fixture.get("/livez").send().await.unwrap().status(), 200);
    fixture.shutdown.cancel();
    tokio::time::timeout(PATIENCE, fixture.served)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn readiness_asks_the_services() {
    let fixture = Fixture::start_with(|options| options.services.retriever_url = "http://127.0.0.1:1".to_owned()).await;
    let unready = fixture.get("/readyz").send().await.unwrap();
    assert_eq!(unready.status(), 503);
    let problem: Value = unready.json().await.unwrap();
    assert!(problem["detail"].as_str().unwrap().contains("retriever"), "{problem}");
}

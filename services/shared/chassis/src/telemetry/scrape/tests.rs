use std::net::Ipv4Addr;

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

fn loopback() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

fn start() -> (Scrape, SdkMeterProvider) {
    let registry = Registry::new();
    let reader = crate::telemetry::prometheus_reader(&registry).unwrap();
    let provider = SdkMeterProvider::builder().with_reader(reader).build();
    (Scrape::start(loopback(), registry).unwrap(), provider)
}

async fn said(scrape: &Scrape, request: &[u8]) -> String {
    let mut connection = TcpStream::connect(scrape.address()).await.unwrap();
    // A server that answers before it has read everything may reset the connection.
    drop(connection.write_all(request).await);
    let mut answer = Vec::new();
    drop(connection.read_to_end(&mut answer).await);
    String::from_utf8(answer).unwrap()
}

async fn get(scrape: &Scrape, path: &str) -> String {
    said(scrape, format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await
}

#[tokio::test]
async fn metrics_are_in_prometheus_text_with_the_names_that_prometheus_has_for_them() {
    let (scrape, provider) = start();
    let meter = provider.meter("test");
    let label = [opentelemetry::KeyValue::new("emend.actor", "grader")];
    meter
        .u64_counter("emend.actor.restarts")
        .with_unit("{restart}")
        .build()
        .add(2, &label);
    let seconds = meter.f64_histogram("rpc.server.call.duration").with_unit("s");
    seconds.with_boundaries(vec![1.0]).build().record(0.5, &[]);
    let answer = get(&scrape, "/metrics").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("content-type: text/plain; version=0.0.4"), "{answer}");
    assert!(
        answer.contains("emend_actor_restarts_total{emend_actor=\"grader\"} 2\n"),
        "{answer}"
    );
    assert!(
        answer.contains("rpc_server_call_duration_seconds_bucket{le=\"1\"} 1\n"),
        "{answer}"
    );
    assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
}

#[tokio::test]
async fn a_process_that_runs_lives_and_other_paths_and_methods_are_refused() {
    let (scrape, _provider) = start();
    assert!(get(&scrape, "/livez").await.starts_with("HTTP/1.1 200 "));
    assert!(get(&scrape, "/").await.starts_with("HTTP/1.1 404 "));
    let post = said(
        &scrape,
        b"POST /metrics HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nhi",
    )
    .await;
    assert!(
        post.starts_with("HTTP/1.1 405 ") && post.contains("allow: GET, HEAD"),
        "{post}"
    );
}

#[tokio::test]
async fn r15_a_request_that_is_too_long_is_refused() {
    let (scrape, _provider) = start();
    let long = format!("/{}", "x".repeat(2 * MAX_SCRAPE_REQUEST_BYTES));
    let answer = get(&scrape, &long).await;
    assert!(
        !answer.starts_with("HTTP/1.1 2") && !answer.starts_with("HTTP/1.1 404"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_connection_above_the_most_is_closed_and_one_that_ends_gives_its_place_back() {
    let (scrape, _provider) = start();
    let mut silent = Vec::new();
    for _ in 0..MAX_SCRAPES {
        silent.push(TcpStream::connect(scrape.address()).await.unwrap());
    }
    assert_eq!(get(&scrape, "/livez").await, "", "one too many");
    drop(silent.pop());
    // The place is free once the server has noticed.
    while get(&scrape, "/livez").await.is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_ends_after_the_time_for_one() {
    let (scrape, _provider) = start();
    let began = tokio::time::Instant::now();
    let mut silent = TcpStream::connect(scrape.address()).await.unwrap();
    assert_eq!(silent.read(&mut [0; 1]).await.unwrap_or(0), 0);
    assert_eq!(began.elapsed().as_secs(), SCRAPE_TIMEOUT.as_secs());
}

#[tokio::test]
async fn an_address_that_is_taken_is_an_error_and_a_dropped_listener_is_gone() {
    let (scrape, _provider) = start();
    let address = scrape.address();
    assert!(Scrape::start(address, Registry::new()).is_err());
    drop(scrape);
    while Scrape::start(address, Registry::new()).is_err() {
        tokio::task::yield_now().await;
    }
}

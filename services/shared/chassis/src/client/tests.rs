//! Clients against real servers behind a resolver of the test's own.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use emend_proto::v1::generator_service_client::GeneratorServiceClient;
use emend_proto::v1::web_search_service_client::WebSearchServiceClient;
use emend_proto::v1::web_search_service_server::{WebSearchService, WebSearchServiceServer};
use emend_proto::v1::{GenerateRequest, SearchRequest, SearchResponse};
use futures::FutureExt;
use tokio::net::TcpListener;
use tonic::Code;

use super::*;
use crate::config::ServiceOptions;
use crate::tests::fixture::{Running, hang_guard, search};
use emend_core::Deadline;

mod tls;

/// A name whose addresses a test changes.
#[derive(Clone, Default)]
struct Name(Arc<Mutex<Vec<SocketAddr>>>);

impl Name {
    fn set<const N: usize>(&self, addresses: [SocketAddr; N]) {
        *self.0.lock().unwrap() = addresses.to_vec();
    }

    fn upstream(&self) -> Upstream {
        self.upstream_with(UpstreamOptions::default())
    }

    fn upstream_with(&self, options: UpstreamOptions) -> Upstream {
        let name = self.clone();
        let resolver = move |_: &str, _| {
            let addresses = name.0.lock().unwrap().clone();
            async move { Ok(addresses) }.boxed()
        };
        let options = UpstreamOptions {
            resolve_every: Duration::from_millis(20),
            resolver: Some(Arc::new(resolver)),
            ..options
        };
        Upstream::with_options("http://searchers:50055", options).unwrap()
    }
}

async fn ask(upstream: &Upstream, query: &str) -> Result<String, tonic::Status> {
    retrying(Deadline::after(Duration::from_secs(60)), |attempt| {
        let mut client = WebSearchServiceClient::new(upstream.channel());
        let request = attempt.request(search(query));
        async move { Ok(client.search(request).await?.into_inner().provider) }
    })
    .await
}

async fn who(upstream: &Upstream) -> Result<String, tonic::Status> {
    ask(upstream, "who").await
}

async fn start(name: &'static str) -> Running {
    Running::start(name, ServiceOptions::default()).await
}

/// A server with a runtime of its own, which can be made to crash.
struct Mortal {
    runtime: tokio::runtime::Runtime,
    server: Running,
}

impl Mortal {
    async fn start(name: &'static str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let server = runtime.spawn(start(name)).await.unwrap();
        Self { runtime, server }
    }

    /// Breaks every connection, as the end of a process does.
    fn crash(self) {
        self.runtime.shutdown_background();
    }
}

async fn until_seen(upstream: &Upstream, wanted: &[&str]) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    while !wanted.iter().all(|name| seen.contains(*name)) {
        seen.insert(who(upstream).await.unwrap());
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_survive_the_loss_of_a_server_and_reach_a_new_one() {
    let (first, second) = (Mortal::start("first").await, start("second").await);
    let name = Name::default();
    name.set([first.server.address, second.address]);
    let upstream = name.upstream();
    until_seen(&upstream, &["first", "second"]).await;

    // With a call in it, and the name still lists the dead one.
    let gates = [first.server.gate.clone(), second.gate.clone()];
    let held: Vec<_> = (0..16)
        .map(|_| {
            let upstream = upstream.clone();
            tokio::spawn(async move { ask(&upstream, "hold").await })
        })
        .collect();
    let reached = gates[0].clone();
    let seen = reached.begun.load(Ordering::SeqCst);
    gates[1].release.add_permits(16);
    reached.reached(&reached.begun, seen + 1).await;
    first.crash();
    for answer in held {
        assert_eq!(answer.await.unwrap().unwrap(), "hold");
    }
    for _ in 0..50 {
        assert_eq!(who(&upstream).await.unwrap(), "second");
    }

    let third = start("third").await;
    name.set([second.address, third.address]);
    hang_guard(async move { until_seen(&upstream, &["second", "third"]).await }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_left_the_name_gets_no_more_calls() {
    let (first, second) = (start("first").await, start("second").await);
    let name = Name::default();
    name.set([first.address, second.address]);
    let upstream = name.upstream();
    until_seen(&upstream, &["first", "second"]).await;
    name.set([second.address]);
    hang_guard(async move {
        let mut in_a_row = 0;
        while in_a_row < 30 {
            in_a_row = if who(&upstream).await.unwrap() == "second" {
                in_a_row + 1
            } else {
                0
            };
        }
    })
    .await;
}

/// An address where nobody listens: a port that was free a moment ago may be another test's by now.
fn nobody() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 1))
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_listening_is_unavailable_at_once_and_names_the_address() {
    let address = nobody();
    let upstream = Upstream::new(&format!("http://{address}")).unwrap();
    let mut client = WebSearchServiceClient::new(upstream.channel());
    let started = Instant::now();
    let status = client
        .search(request(search("who"), Deadline::after(Duration::from_secs(60))))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.message().contains(&address.to_string()), "{status:?}");
    assert!(
        started.elapsed() < Duration::from_secs(30),
        "it waited for the deadline"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_comes_up_later_is_found_by_the_next_call() {
    let address = nobody();
    let name = Name::default();
    name.set([address]);
    let upstream = name.upstream();
    let mut client = WebSearchServiceClient::new(upstream.channel());
    assert_eq!(
        client.search(search("who")).await.unwrap_err().code(),
        Code::Unavailable
    );
    let server = start("late").await;
    name.set([address, server.address]);
    assert_eq!(
        client.search(search("who")).await.unwrap().into_inner().provider,
        "late"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_does_not_resolve_is_unavailable_and_named() {
    let name = Name::default();
    let mut client = WebSearchServiceClient::new(name.upstream().channel());
    let status = client.search(search("who")).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.message().contains("http://searchers:50055"), "{status:?}");
    assert!(status.message().contains("no addresses"), "{status:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resolver_that_hangs_is_bounded_by_the_deadline() {
    let options = UpstreamOptions {
        resolver: Some(Arc::new(|_: &str, _| std::future::pending().boxed())),
        connect_timeout: Duration::from_secs(3600),
        ..UpstreamOptions::default()
    };
    let upstream = Upstream::with_options("http://nowhere:1", options).unwrap();
    let mut client = WebSearchServiceClient::new(upstream.channel());
    let status = client
        .search(request(search("who"), Deadline::after(Duration::from_millis(50))))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_accepts_and_says_nothing_is_bounded_by_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = Upstream::new(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let mut client = WebSearchServiceClient::new(upstream.channel());
    let status = client
        .search(request(search("who"), Deadline::after(Duration::from_millis(50))))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::await_holding_lock, reason = "only threads of actors wait for it")]
async fn a_server_that_hangs_loses_its_calls_and_gets_no_more_until_it_answers() {
    let (first, second) = (start("first").await, start("second").await);
    let name = Name::default();
    name.set([first.address, second.address]);
    let upstream = name.upstream_with(UpstreamOptions {
        // Not by pings: they end streams.
        keepalive_interval: Duration::from_secs(3600),
        keepalive_timeout: Duration::from_secs(1),
        patience: Duration::from_millis(100),
        ..UpstreamOptions::default()
    });
    until_seen(&upstream, &["first", "second"]).await;

    // The thread that serves the first's connections stands still, and the operating system goes on to accept them.
    let gate = first.gate.clone();
    let begun = gate.begun.load(Ordering::SeqCst);
    let frozen = gate.thread.lock().unwrap();
    let mut client = first.client().await;
    let _blocked = tokio::spawn(async move { client.search(search("block")).await });
    gate.reached(&gate.begun, begun + 1).await;
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let upstream = upstream.clone();
            tokio::spawn(async move { who(&upstream).await })
        })
        .collect();
    for answer in hang_guard(futures::future::join_all(calls)).await {
        assert_eq!(answer.unwrap().unwrap(), "second");
    }

    drop(frozen);
    hang_guard(async move { until_seen(&upstream, &["first", "second"]).await }).await;
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::await_holding_lock, reason = "only threads of actors wait for it")]
async fn a_server_that_freezes_in_the_middle_of_a_stream_ends_it_by_its_pings() {
    let server = start("one").await;
    let name = Name::default();
    name.set([server.address]);
    let upstream = name.upstream_with(UpstreamOptions {
        keepalive_interval: Duration::from_millis(100),
        keepalive_timeout: Duration::from_millis(100),
        ..UpstreamOptions::default()
    });
    let gate = server.gate.clone();
    gate.release.add_permits(1);
    let mut client = GeneratorServiceClient::new(upstream.channel());
    let request = request(GenerateRequest::default(), Deadline::after(Duration::from_secs(3600)));
    let mut events = client.generate(request).await.unwrap().into_inner();
    assert!(events.message().await.unwrap().is_some());
    let begun = gate.begun.load(Ordering::SeqCst);
    let frozen = gate.thread.lock().unwrap();
    let mut other = server.client().await;
    let _blocked = tokio::spawn(async move { other.search(search("block")).await });
    gate.reached(&gate.begun, begun + 1).await;
    let status = hang_guard(async move { events.message().await }).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    assert!(status.message().contains("http://searchers:50055"), "{status:?}");
    drop(frozen);
}

/// A server that cannot serve until it is told to; it counts its calls.
#[derive(Clone, Default)]
struct Failing {
    calls: Arc<AtomicUsize>,
    works: Arc<AtomicBool>,
}

#[tonic::async_trait]
impl WebSearchService for Failing {
    async fn search(&self, _: tonic::Request<SearchRequest>) -> Result<tonic::Response<SearchResponse>, tonic::Status> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        match self.works.load(Ordering::SeqCst) {
            true => Ok(tonic::Response::new(SearchResponse::default())),
            false => Err(tonic::Status::unavailable("told to fail")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_every_server_fails_calls_fail_at_once_until_one_works() {
    let failing = Failing::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let name = Name::default();
    name.set([listener.local_addr().unwrap()]);
    let service = WebSearchServiceServer::new(failing.clone());
    let server = tonic::transport::Server::builder().add_service(service);
    tokio::spawn(server.serve_with_incoming(tonic::transport::server::TcpIncoming::from(listener)));
    let upstream = name.upstream();
    // Until every server rests.
    let status = loop {
        let status = who(&upstream).await.unwrap_err();
        if status.message().contains("is asked for now") {
            break status;
        }
    };
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    for part in ["http://searchers:50055", "fails (told to fail)", "asked again in"] {
        assert!(status.message().contains(part), "{part}: {status:?}");
    }
    let calls = || failing.calls.load(Ordering::SeqCst);
    let asked = calls();
    let ask = || (0..100).map(|_| who(&upstream));
    let refused = futures::future::join_all(ask()).await;
    assert!(refused.iter().all(Result::is_err));
    // It may have rested meanwhile, and then one call each time sees how it does.
    assert!(calls() <= asked + 10);

    failing.works.store(true, Ordering::SeqCst);
    let until = async {
        while who(&upstream).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), until).await.unwrap();
    let answered = futures::future::join_all(ask()).await;
    assert!(answered.iter().all(Result::is_ok), "{answered:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_is_lost_to_the_age_of_a_connection() {
    let server = Running::start(
        "one",
        ServiceOptions {
            max_connection_age: Duration::from_millis(20),
            ..ServiceOptions::default()
        },
    )
    .await;
    let upstream = Upstream::new(&format!("http://{}", server.address)).unwrap();
    let callers = (0..8).map(|_| {
        let upstream = upstream.clone();
        tokio::spawn(async move {
            for _ in 0..200 {
                who(&upstream).await.unwrap();
            }
        })
    });
    for caller in futures::future::join_all(callers).await {
        caller.unwrap();
    }
}

/// Another implementation, which has much to say.
struct Foreign;

#[tonic::async_trait]
impl WebSearchService for Foreign {
    async fn search(&self, _: tonic::Request<SearchRequest>) -> Result<tonic::Response<SearchResponse>, tonic::Status> {
        Err(tonic::Status::not_found("long ".repeat(10_000)))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_error_of_another_implementation_is_read() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("http://{}", listener.local_addr().unwrap());
    let server = tonic::transport::Server::builder().add_service(WebSearchServiceServer::new(Foreign));
    tokio::spawn(server.serve_with_incoming(tonic::transport::server::TcpIncoming::from(listener)));
    let mut client = WebSearchServiceClient::new(Upstream::new(&target).unwrap().channel());
    let status = client.search(search("who")).await.unwrap_err();
    assert_eq!(
        (status.code(), status.message().len()),
        (Code::NotFound, 50_000),
        "{status:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_at_the_deadline() {
    let server = start("one").await;
    let upstream = Upstream::new(&format!("http://{}", server.address)).unwrap();
    let mut client = GeneratorServiceClient::new(upstream.channel());
    server.gate.release.add_permits(1);
    let request = request(GenerateRequest::default(), Deadline::after(Duration::from_millis(500)));
    let mut events = client.generate(request).await.unwrap().into_inner();
    assert!(events.message().await.unwrap().is_some());
    assert_eq!(events.message().await.unwrap_err().code(), Code::DeadlineExceeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_in_the_middle_is_unavailable() {
    // A server of a kind: takes the connection, and breaks it when the request comes.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                // An empty SETTINGS frame lets the client send its request.
                tokio::io::AsyncWriteExt::write_all(&mut socket, &[0, 0, 0, 4, 0, 0, 0, 0, 0])
                    .await
                    .ok();
                tokio::io::AsyncReadExt::read(&mut socket, &mut [0; 4096]).await.ok();
            });
        }
    });
    let upstream = Upstream::new(&format!("http://{address}")).unwrap();
    let mut client = WebSearchServiceClient::new(upstream.channel());
    let status = client
        .search(request(search("who"), Deadline::after(Duration::from_secs(60))))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    assert!(status.message().contains(&address.to_string()), "{status:?}");
}

#[tokio::test]
async fn a_target_that_is_none_is_refused_with_an_example() {
    for target in [
        "grader:50052",
        "",
        "ftp://grader",
        "http://",
        "http://grader/path",
        "not a target",
    ] {
        let error = Upstream::new(target).unwrap_err();
        assert!(error.to_string().contains("http://grader:50052"), "{target:?}: {error}");
    }
    let error = Upstream::new("http://user:pl4nted@grader/path")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("http://grader/path") && !error.contains("pl4nted"),
        "{error}"
    );
    let upstream = Upstream::new("http://user:pl4nted@127.0.0.1:1").unwrap();
    assert_eq!(upstream.target(), "http://127.0.0.1:1");
    for (target, host, port, tls) in [
        ("http://[::1]:7", "::1", 7, false),
        ("http://grader", "grader", 80, false),
        ("https://grader", "grader", 443, true),
        ("https://grader:50052/", "grader", 50052, true),
    ] {
        let expected = Address {
            host: host.to_owned(),
            port,
            tls,
        };
        assert_eq!(address(target).unwrap(), expected);
    }
}

//! The server over real sockets.

use std::sync::atomic::Ordering;
use std::time::Duration;

use emend_proto::v1::GenerateRequest;
use emend_proto::v1::generator_service_client::GeneratorServiceClient;
use futures::StreamExt;
use futures::future::join_all;
use tonic::Code;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt;

use super::MAX_PROBE_BYTES;
use crate::config::ServiceOptions;
use crate::error::ServeError;
use crate::tests::fixture::{Running, hang_guard, search};

fn options() -> ServiceOptions {
    ServiceOptions {
        drain_timeout: Duration::from_secs(60),
        ..ServiceOptions::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_served_in_turn_each_on_the_thread_of_an_actor() {
    let server = Running::start_on("two", 2, options()).await;
    let mut threads = Vec::new();
    for _ in 0..4 {
        let mut client = server.client().await;
        let mut ask = async || client.search(search("where")).await.unwrap().into_inner().provider;
        let thread = ask().await;
        for _ in 0..3 {
            assert_eq!(ask().await, thread, "a call left the thread of its connection");
        }
        threads.push(thread);
    }
    assert_eq!(threads[..2], threads[2..]);
    assert_ne!(threads[0], threads[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn overload_is_refused_with_retry_info_and_everything_admitted_completes() {
    let server = Running::start(
        "one",
        ServiceOptions {
            max_in_flight: 3,
            ..options()
        },
    )
    .await;
    let client = server.client().await;
    let admitted: Vec<_> = (0..3)
        .map(|_| {
            let mut client = client.clone();
            tokio::spawn(async move { client.search(search("hold")).await })
        })
        .collect();
    server.gate.reached(&server.gate.begun, 3).await;
    for _ in 0..5 {
        let refused = client.clone().search(search("who")).await.unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted);
        assert!(refused.get_details_retry_info().unwrap().retry_delay.is_some());
    }
    server.gate.release.add_permits(3);
    for answer in join_all(admitted).await {
        assert_eq!(answer.unwrap().unwrap().into_inner().provider, "hold");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn work_stops_when_the_client_disconnects() {
    let server = Running::start("one", options()).await;
    let mut client = server.client().await;
    let call = tokio::spawn(async move { client.search(search("hold")).await });
    server.gate.reached(&server.gate.begun, 1).await;
    call.abort();
    let gate = server.gate.clone();
    hang_guard(async move { gate.reached(&gate.dropped, 1).await }).await;
    assert_eq!(server.gate.done.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn work_stops_when_the_reader_of_a_stream_disconnects() {
    let server = Running::start("one", options()).await;
    let endpoint = Endpoint::from_shared(format!("http://{}", server.address)).unwrap();
    let mut client = GeneratorServiceClient::new(endpoint.connect().await.unwrap());
    server.gate.release.add_permits(1);
    let mut events = client.generate(GenerateRequest::default()).await.unwrap().into_inner();
    assert!(events.message().await.unwrap().is_some());
    drop(events);
    let gate = server.gate.clone();
    hang_guard(async move { gate.reached(&gate.dropped, 1).await }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_answer_is_deadline_exceeded_and_not_cancelled() {
    let server = Running::start("one", options()).await;
    let mut client = server.client().await;
    let mut request = tonic::Request::new(search("hold"));
    // Only the server is to see the timeout, or the client's own timer could be first.
    request.metadata_mut().insert("grpc-timeout", "2S".parse().unwrap());
    let endpoint = Endpoint::from_shared(format!("http://{}", server.address)).unwrap();
    let late = client.search(request).await.unwrap_err();
    assert_eq!(late.code(), Code::DeadlineExceeded, "{late:?}");
    let mut events = GeneratorServiceClient::new(endpoint.connect().await.unwrap());
    let mut request = tonic::Request::new(GenerateRequest::default());
    request.metadata_mut().insert("grpc-timeout", "2S".parse().unwrap());
    let mut events = events.generate(request).await.unwrap().into_inner();
    assert_eq!(events.message().await.unwrap_err().code(), Code::DeadlineExceeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_work_gets_the_callers_deadline_or_the_default() {
    let options = ServiceOptions {
        default_timeout: Duration::from_secs(100),
        ..options()
    };
    let server = Running::start("one", options).await;
    let mut client = server.client().await;
    let mut left = async |request: tonic::Request<_>| -> u64 {
        client
            .search(request)
            .await
            .unwrap()
            .into_inner()
            .provider
            .parse()
            .unwrap()
    };
    let without = left(tonic::Request::new(search("left"))).await;
    assert!((50_000..=100_000).contains(&without), "{without}");
    let mut request = tonic::Request::new(search("left"));
    request.set_timeout(Duration::from_secs(1000));
    let with = left(request).await;
    assert!((900_000..1_000_000).contains(&with), "{with}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_actor_that_panics_costs_one_call() {
    let server = Running::start("one", options()).await;
    let mut client = server.client().await;
    assert_eq!(
        client.search(search("panic")).await.unwrap_err().code(),
        Code::Unavailable
    );
    assert_eq!(client.search(search("who")).await.unwrap().into_inner().provider, "one");
    let failed = client.search(search("fail")).await.unwrap_err();
    assert_eq!(
        (failed.code(), failed.message()),
        (Code::FailedPrecondition, "told to fail")
    );
}

async fn health(server: &Running) -> HealthClient<tonic::transport::Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{}", server.address)).unwrap();
    HealthClient::new(endpoint.connect().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn health_is_by_name_and_follows_the_actor() {
    let server = Running::start("one", options()).await;
    let mut health = health(&server).await;
    let mut check = async |service: &str| {
        let service = service.to_owned();
        health
            .check(HealthCheckRequest { service })
            .await
            .map(|answer| answer.into_inner().status())
    };
    for name in ["", "emend.v1.WebSearchService", "emend.v1.GeneratorService"] {
        assert_eq!(check(name).await.unwrap(), ServingStatus::Serving, "{name}");
    }
    assert_eq!(check("made.Up").await.unwrap_err().code(), Code::NotFound);
    let mut client = server.client().await;
    for _ in 0..4 {
        assert_eq!(
            client.search(search("panic")).await.unwrap_err().code(),
            Code::Unavailable
        );
    }
    assert_eq!(client.search(search("who")).await.unwrap().into_inner().provider, "one");
    while check("emend.v1.WebSearchService").await.unwrap() != ServingStatus::NotServing {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        check("emend.v1.GeneratorService").await.unwrap(),
        ServingStatus::Serving
    );
}

/// What reflection of a version answers to these names: to the empty one the services, else the size of the file that
/// declares the name, or the code of the error.
macro_rules! reflected {
    ($version:ident, $server:expr, $names:expr) => {{
        use tonic_reflection::pb::$version::server_reflection_client::ServerReflectionClient;
        use tonic_reflection::pb::$version::server_reflection_request::MessageRequest;
        use tonic_reflection::pb::$version::server_reflection_response::MessageResponse;
        let endpoint = Endpoint::from_shared(format!("http://{}", $server.address)).unwrap();
        let mut client = ServerReflectionClient::new(endpoint.connect().await.unwrap());
        let names: Vec<String> = $names.into_iter().map(str::to_owned).collect();
        let requests = names
            .into_iter()
            .map(|name| tonic_reflection::pb::$version::ServerReflectionRequest {
                host: String::new(),
                message_request: Some(match name.as_str() {
                    "" => MessageRequest::ListServices(name),
                    _ => MessageRequest::FileContainingSymbol(name),
                }),
            });
        let answers = client.server_reflection_info(futures::stream::iter(requests)).await;
        let answers = answers.unwrap().into_inner();
        let told = answers.map(|answer| match answer.map(|answer| answer.message_response) {
            Ok(Some(MessageResponse::ListServicesResponse(list))) => {
                list.service.into_iter().map(|service| service.name).collect()
            }
            Ok(Some(MessageResponse::FileDescriptorResponse(files))) => {
                vec![files.file_descriptor_proto[0].len().to_string()]
            }
            other => vec![format!("{:?}", other.unwrap_err().code())],
        });
        told.collect::<Vec<_>>().await
    }};
}

#[tokio::test(flavor = "multi_thread")]
async fn reflection_of_both_versions_tells_the_services() {
    let server = Running::start("one", options()).await;
    let names = || ["", "emend.v1.WebSearchService", "grpc.reflection.v1.ServerReflection"];
    let v1 = reflected!(v1, server, names());
    for service in [
        "emend.v1.WebSearchService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
    ] {
        assert!(v1[0].iter().any(|name| name == service), "{service}: {v1:?}");
    }
    assert_eq!(v1.len(), 3, "{v1:?}");
    assert!(v1[1][0].parse::<usize>().is_ok_and(|bytes| bytes > 100), "{v1:?}");
    assert_eq!(v1, reflected!(v1alpha, server, names()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_to_reflection_is_a_name_and_no_more() {
    let server = Running::start("one", options()).await;
    let name = "n".repeat(MAX_PROBE_BYTES);
    let refused = [vec!["OutOfRange".to_owned()]];
    assert_eq!(reflected!(v1, server, [name.as_str()]), refused);
    assert_eq!(reflected!(v1alpha, server, [name.as_str()]), refused);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_lets_running_calls_end_and_refuses_new_ones() {
    let server = Running::start("one", options()).await;
    let mut client = server.client().await;
    let mut watch = health(&server).await;
    let service = "emend.v1.WebSearchService".to_owned();
    let mut watched = watch.watch(HealthCheckRequest { service }).await.unwrap().into_inner();
    assert_eq!(
        watched.message().await.unwrap().unwrap().status(),
        ServingStatus::Serving
    );

    let running = tokio::spawn(async move { client.search(search("hold")).await });
    server.gate.reached(&server.gate.begun, 1).await;
    server.shutdown.cancel();
    // The watch says so and ends: it does not hold up the drain. It may say again what it said before.
    let mut status = ServingStatus::Serving;
    while status == ServingStatus::Serving {
        status = watched.message().await.unwrap().unwrap().status();
    }
    assert_eq!(status, ServingStatus::NotServing);
    hang_guard(async move { while watched.message().await.unwrap().is_some() {} }).await;
    let address = server.address;
    while tokio::net::TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!server.served.is_finished());
    server.gate.release.add_permits(1);
    assert_eq!(running.await.unwrap().unwrap().into_inner().provider, "hold");
    let served = server.served;
    hang_guard(served).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_that_takes_too_long_is_cut_off() {
    let options = ServiceOptions {
        drain_timeout: Duration::from_millis(50),
        ..options()
    };
    let server = Running::start("one", options).await;
    let mut client = server.client().await;
    let _running = tokio::spawn(async move { client.search(search("hold")).await });
    server.gate.reached(&server.gate.begun, 1).await;
    server.shutdown.cancel();
    let served = server.served;
    assert!(matches!(
        hang_guard(served).await.unwrap(),
        Err(ServeError::Drain { .. })
    ));
}

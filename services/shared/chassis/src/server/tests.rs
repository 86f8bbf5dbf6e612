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
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_types::StatusExt;

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

#[tokio::test(flavor = "multi_thread")]
async fn reflection_tells_the_services() {
    let server = Running::start("one", options()).await;
    let endpoint = Endpoint::from_shared(format!("http://{}", server.address)).unwrap();
    let mut client = ServerReflectionClient::new(endpoint.connect().await.unwrap());
    let ask = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let answers = client
        .server_reflection_info(futures::stream::iter([ask]))
        .await
        .unwrap()
        .into_inner();
    let answers: Vec<_> = answers.collect().await;
    let Some(MessageResponse::ListServicesResponse(list)) = answers[0].as_ref().unwrap().message_response.clone()
    else {
        panic!("no list: {answers:?}")
    };
    let names: Vec<_> = list.service.iter().map(|service| service.name.as_str()).collect();
    assert!(names.contains(&"emend.v1.WebSearchService"), "{names:?}");
    assert!(names.contains(&"grpc.health.v1.Health"), "{names:?}");
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

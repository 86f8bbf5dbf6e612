//! Whether the gateway is ready: by gRPC's health, and on the port of metrics of its process, which has only this test.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::SocketAddr;

use emend_chassis::{Server, ServiceOptions, Telemetry, TelemetryOptions, TracedChannel, Upstream};
use emend_gateway::{Options, serve};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic_health::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A gateway in front of services at an address, which may be nobody's.
async fn gateway(services: SocketAddr, shutdown: &CancellationToken) -> (SocketAddr, JoinHandle<()>) {
    let (listener, address) = listener().await;
    let mut options = Options::default();
    options.services.orchestrator_url = format!("http://{services}");
    options.services.retriever_url = format!("http://{services}");
    let shutdown = shutdown.clone();
    let served = tokio::spawn(async move { serve(options, listener, shutdown).await.unwrap() });
    (address, served)
}

fn client(gateway: SocketAddr) -> HealthClient<TracedChannel> {
    HealthClient::new(Upstream::new(&format!("http://{gateway}")).unwrap().channel())
}

async fn health(gateway: SocketAddr) -> i32 {
    let answer = client(gateway).check(HealthCheckRequest::default()).await.unwrap();
    answer.into_inner().status
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_is_ready_where_the_services_behind_it_are() {
    let mut options = TelemetryOptions::new("emend-gateway");
    options.log = "off".to_owned();
    options.metrics_listen = Some(([127, 0, 0, 1], 0).into());
    let telemetry = Telemetry::start(options).unwrap();
    let metrics = telemetry.metrics_address().unwrap();
    let http = emend_core::http::builder().no_proxy().build().unwrap();
    let readyz = async || {
        let answer = http.get(format!("http://{metrics}/readyz")).send().await.unwrap();
        answer.status().as_u16()
    };
    let stop = CancellationToken::new();
    let (services, behind) = listener().await;
    let options: ServiceOptions = Options::default().service;
    tokio::spawn(Server::new("behind", &options).serve(services, stop.clone()));

    let (ready, _served) = gateway(behind, &stop).await;
    assert_eq!(health(ready).await, ServingStatus::Serving as i32);
    assert_eq!(readyz().await, 200);

    let stop_unready = CancellationToken::new();
    let nobody: SocketAddr = ([127, 0, 0, 1], 1).into();
    let (unready, served) = gateway(nobody, &stop_unready).await;
    assert_eq!(health(unready).await, ServingStatus::NotServing as i32);
    assert_eq!(readyz().await, 503);
    stop_unready.cancel();
    served.await.unwrap();
    assert_eq!(readyz().await, 200, "the gateway that is not ready is gone");

    let named = HealthCheckRequest {
        service: "emend.v1.GraderService".to_owned(),
    };
    assert_eq!(
        client(ready).check(named).await.unwrap_err().code(),
        tonic::Code::NotFound
    );
    stop.cancel();
    telemetry.shutdown().await;
}

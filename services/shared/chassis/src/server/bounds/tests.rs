use std::future::pending;

use emend_proto::FILE_DESCRIPTOR_SET;
use emend_proto::v1::generator_service_client::GeneratorServiceClient;
use emend_proto::v1::web_search_service_client::WebSearchServiceClient;
use emend_proto::v1::web_search_service_server::{WebSearchService, WebSearchServiceServer};
use emend_proto::v1::{GenerateRequest, SearchRequest, SearchResponse};
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_types::StatusExt;
use tower::{ServiceExt, service_fn};

use super::*;
use crate::status::code_of_grpc;
use crate::tests::fixture::{Running, search, until};
use budget::{CALL_BYTES, MAX_CLIENT_STREAMS};

fn one_mib() -> ServiceOptions {
    ServiceOptions {
        request_memory_mib: 1,
        max_in_flight: 1,
        ..ServiceOptions::default()
    }
}

/// A request of so many bytes and a little more.
fn large(query: &str, bytes: usize) -> SearchRequest {
    SearchRequest {
        allowed_domains: vec!["d".repeat(bytes)],
        ..search(query)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_that_is_too_long_for_headers_reaches_the_client() {
    let server = Running::start("one", ServiceOptions::default()).await;
    let status = server
        .client()
        .await
        .search(search("fail at length"))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::NotFound, "{status:?}");
    assert!(status.message().ends_with("bytes left out)"), "{}", status.message());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_a_million_empty_elements_is_refused_and_its_field_named() {
    let server = Running::start("one", ServiceOptions::default()).await;
    let mut client = GeneratorServiceClient::new(server.connect().await);
    let request = GenerateRequest {
        unsupported: vec![String::new(); 1_000_000],
        ..Default::default()
    };
    let refused = client.generate(request).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
    let details = refused.get_error_details();
    assert_eq!(details.bad_request().unwrap().field_violations[0].field, "unsupported");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_request_that_is_worked_on_holds_up_no_other() {
    let server = Running::start("one", ServiceOptions::default()).await;
    let (mut first, mut second) = (server.client().await, server.client().await);
    let held = tokio::spawn(async move { first.search(large("hold", 600_000)).await });
    server.gate.reached(&server.gate.begun, 1).await;
    let answer = second.search(large("who", 600_000)).await.unwrap();
    assert_eq!(answer.into_inner().provider, "one");
    server.gate.release.add_permits(1);
    held.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_above_the_memory_for_them_are_refused_until_there_is_room() {
    let server = Running::start("one", one_mib()).await;
    let (mut first, mut second) = (server.client().await, server.client().await);
    let held = tokio::spawn(async move { first.search(large("hold", 600_000)).await });
    server.gate.reached(&server.gate.begun, 1).await;
    let refused = second.search(large("who", 600_000)).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    assert!(refused.message().contains("--request-memory-mib"), "{refused:?}");
    assert!(refused.get_details_retry_info().unwrap().retry_delay.is_some());

    server.gate.release.add_permits(1);
    held.await.unwrap().unwrap();
    // What the first held is given back when its last byte is sent, which may be a moment later.
    let answered = loop {
        match second.search(large("who", 600_000)).await {
            Err(status) if status.code() == Code::ResourceExhausted => tokio::task::yield_now().await,
            answered => break answered,
        }
    };
    assert_eq!(answered.unwrap().into_inner().provider, "one");

    let refused = second.search(large("who", 2_000_000)).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
    assert_eq!(crate::reason_of(&refused), emend_core::Reason::RequestTooLarge);
    assert!(refused.get_details_retry_info().is_none(), "it is told to try again");
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_reflection_answer_while_everything_else_is_refused() {
    let server = Running::start("one", one_mib()).await;
    let mut client = server.client().await;
    let mut holder = client.clone();
    let _held = tokio::spawn(async move { holder.search(large("hold", 1_000_000)).await });
    server.gate.reached(&server.gate.begun, 1).await;
    for _ in 0..3 {
        let refused = client.search(large("who", 100_000)).await.unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted);
        let mut health = HealthClient::new(server.connect().await);
        health.check(HealthCheckRequest::default()).await.unwrap();
        let mut reflection = ServerReflectionClient::new(server.connect().await);
        let ask = ServerReflectionRequest {
            host: String::new(),
            message_request: Some(MessageRequest::ListServices(String::new())),
        };
        let mut answers = reflection
            .server_reflection_info(futures::stream::iter([ask]))
            .await
            .unwrap()
            .into_inner();
        assert!(answers.message().await.unwrap().is_some());
    }
}

/// Answers as much as it is asked.
struct Echo;

#[tonic::async_trait]
impl WebSearchService for Echo {
    async fn search(&self, request: tonic::Request<SearchRequest>) -> Result<tonic::Response<SearchResponse>, Status> {
        Ok(tonic::Response::new(SearchResponse {
            provider: request.into_inner().query,
            ..Default::default()
        }))
    }
}

#[tokio::test]
async fn a_message_that_is_too_large_is_the_fault_of_whoever_sends_it() {
    let layer = BoundsLayer::new(&[FILE_DESCRIPTOR_SET.to_vec()], &ServiceOptions::default());
    let echo = WebSearchServiceServer::new(Echo)
        .max_encoding_message_size(100)
        .max_decoding_message_size(1000);
    let mut client = WebSearchServiceClient::new(layer.layer(echo));
    let response = client.search(search(&"q".repeat(200))).await.unwrap_err();
    assert_eq!(response.code(), Code::Internal);
    assert!(response.message().contains("the limit is: 100"), "{response:?}");
    let request = client.search(search(&"q".repeat(2000))).await.unwrap_err();
    assert_eq!(request.code(), Code::InvalidArgument);
    assert!(request.message().contains("the limit is: 1000"), "{request:?}");
    // What a client itself finds too large is not the fault of its own caller either.
    let mut client = client.max_decoding_message_size(10);
    let found = client.search(search("a long question")).await.unwrap_err();
    assert_eq!(code_of_grpc(found.code()), emend_core::Code::Internal, "{found:?}");
}

#[tokio::test]
async fn a_caller_that_leaves_before_its_request_is_whole_is_no_fault_of_the_server() {
    let layer = BoundsLayer::new(&[FILE_DESCRIPTOR_SET.to_vec()], &ServiceOptions::default());
    let echo = layer.layer(WebSearchServiceServer::new(Echo));
    let answered = async |body: Body| {
        let request = Request::builder().uri("/emend.v1.WebSearchService/Search");
        let response = echo.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        Status::from_header_map(response.headers()).unwrap().code()
    };
    // As the transport says that the caller took the call back, and that the connection broke.
    for end in [Status::cancelled("reset"), Status::unknown("broken pipe")] {
        for bytes in [&[][..], &[0, 0], &[0, 0, 0, 0, 9, 10, 7]] {
            let frames = [Ok(Frame::data(Bytes::from_static(bytes))), Err(end.clone())];
            let body = Body::new(http_body_util::StreamBody::new(futures::stream::iter(frames)));
            assert_eq!(answered(body).await, Code::Cancelled, "{end} {bytes:?}");
        }
    }
    assert_eq!(
        answered(Body::empty()).await,
        Code::Internal,
        "it ended, without a message"
    );
}

#[tokio::test]
async fn streams_above_the_number_of_them_are_refused_until_one_ends() {
    let layer = BoundsLayer::new(&[FILE_DESCRIPTOR_SET.to_vec()], &ServiceOptions::default());
    let service = layer.layer(service_fn(|_| async { Ok(Response::new(Body::new(Never))) }));
    let ingest = async || {
        let request = Request::builder().uri("/emend.v1.RetrieverService/Ingest");
        service
            .clone()
            .oneshot(request.body(Body::empty()).unwrap())
            .await
            .unwrap()
    };
    let mut streams = Vec::new();
    for _ in 0..MAX_CLIENT_STREAMS {
        streams.push(ingest().await);
    }
    let refused = Status::from_header_map(ingest().await.headers()).unwrap();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.get_details_retry_info().is_some());
    streams.pop();
    assert!(Status::from_header_map(ingest().await.headers()).is_none());
}

#[tokio::test]
async fn a_call_that_is_dropped_gives_back_what_it_held() {
    let layer = BoundsLayer::new(&[FILE_DESCRIPTOR_SET.to_vec()], &one_mib());
    let service = layer.layer(service_fn(|_| pending::<Result<Response<Body>, Infallible>>()));
    let free = layer.budget.free();
    let request = Request::builder().uri("/emend.v1.WebSearchService/Search");
    let call = tokio::spawn(service.oneshot(request.body(Body::empty()).unwrap()));
    until(|| layer.budget.free() == free - CALL_BYTES).await;
    call.abort();
    until(|| layer.budget.free() == free).await;
}

/// A body that never ends.
struct Never;

impl http_body::Body for Never {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Poll::Pending
    }
}

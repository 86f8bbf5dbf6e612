//! gRPC-Web, as stubs for browsers speak it.

use emend_proto::v1::{AskRequest, AskResponse, AskStreamRequest, AskStreamResponse, Question};
use prost::Message;

use crate::standin::Fixture;

/// A message in its frame.
pub(crate) fn frame(message: &impl Message) -> Vec<u8> {
    let message = message.encode_to_vec();
    let mut frame = vec![0];
    frame.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    frame.extend(message);
    frame
}

/// The messages of a response, and its trailers.
fn frames(mut bytes: &[u8]) -> (Vec<Vec<u8>>, String) {
    let (mut messages, mut trailers) = (Vec::new(), String::new());
    while !bytes.is_empty() {
        let length = u32::from_be_bytes(bytes[1..5].try_into().unwrap()) as usize;
        let body = &bytes[5..5 + length];
        if bytes[0] & 0x80 == 0 {
            messages.push(body.to_vec());
        } else {
            trailers = String::from_utf8(body.to_vec()).unwrap();
        }
        bytes = &bytes[5 + length..];
    }
    (messages, trailers)
}

/// A question in a message.
pub(crate) fn question(text: &str) -> Option<Question> {
    Some(Question {
        question: text.to_owned(),
        ..Question::default()
    })
}

/// A call of a method as stubs send it.
pub(crate) fn call(fixture: &Fixture, method: &str, body: Vec<u8>) -> reqwest::RequestBuilder {
    let url = format!("{}/emend.v1.{method}", fixture.url);
    fixture
        .client
        .post(url)
        .header("content-type", "application/grpc-web+proto")
        .header("x-grpc-web", "1")
        .body(body)
}

#[tokio::test]
async fn a_call_and_a_stream_of_responses_go_through() {
    let fixture = Fixture::start().await;
    let question = question("How many?");
    let body = frame(&AskRequest {
        question: question.clone(),
    });
    let asked = call(&fixture, "OrchestratorService/Ask", body).bearer_auth("k-1");
    let response = asked.send().await.unwrap();
    assert_eq!(response.status(), 200);
    let (messages, trailers) = frames(&response.bytes().await.unwrap());
    assert!(trailers.contains("grpc-status:0"), "{trailers}");
    let answer = AskResponse::decode(messages[0].as_slice()).unwrap();
    assert!(answer.result.unwrap().answer.starts_with("Everybody"));
    assert_eq!(fixture.sent.last("authorization").unwrap(), "Bearer k-1");

    let body = frame(&AskStreamRequest { question });
    let streamed = call(&fixture, "OrchestratorService/AskStream", body)
        .send()
        .await
        .unwrap();
    let (messages, trailers) = frames(&streamed.bytes().await.unwrap());
    assert!(trailers.contains("grpc-status:0"), "{trailers}");
    assert_eq!(messages.len(), 5);
    AskStreamResponse::decode(messages[4].as_slice()).unwrap();
}

#[tokio::test]
async fn errors_have_the_status_of_grpc() {
    let fixture = Fixture::start().await;
    let body = frame(&AskRequest {
        question: question("REFUSE"),
    });
    let refused = call(&fixture, "OrchestratorService/Ask", body).send().await.unwrap();
    let in_headers = refused
        .headers()
        .get("grpc-status")
        .map(|status| status.to_str().unwrap().to_owned());
    let (_, trailers) = frames(&refused.bytes().await.unwrap());
    assert!(
        in_headers.as_deref() == Some("3") || trailers.contains("grpc-status:3"),
        "{trailers}"
    );
}

#[tokio::test]
async fn what_is_not_grpc_web_is_refused() {
    let fixture = Fixture::start().await;
    let body = frame(&AskRequest::default());
    let url = format!("{}/emend.v1.OrchestratorService/Ask", fixture.url);
    let grpc = fixture
        .client
        .post(url)
        .header("content-type", "application/grpc")
        .body(body.clone());
    assert_eq!(grpc.send().await.unwrap().status(), 415);
    let ingest = call(&fixture, "RetrieverService/Ingest", body.clone())
        .send()
        .await
        .unwrap();
    assert_eq!(ingest.status(), 501);
    let other = call(&fixture, "GraderService/GradeUsefulness", body)
        .send()
        .await
        .unwrap();
    assert_eq!(other.status(), 404);
    let large = call(&fixture, "OrchestratorService/Ask", vec![0; 6 << 20])
        .send()
        .await
        .unwrap();
    assert_eq!(large.status(), 413);
}

use emend_proto::FILE_DESCRIPTOR_SET;
use futures::FutureExt;
use http_body_util::{BodyExt, StreamBody};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;

use super::super::budget::Budget;
use super::*;

const WITHIN: Duration = Duration::from_secs(30);

/// A body of a method with a budget of 1 MiB, and the way to send it bytes.
fn body(budget: &Arc<Budget>, path: &str) -> (mpsc::Sender<Vec<u8>>, RequestBody) {
    let (sender, receiver) = mpsc::channel::<Vec<u8>>(9);
    let frames = futures::StreamExt::map(ReceiverStream::new(receiver), |data| {
        Ok::<_, Status>(Frame::data(Bytes::from(data)))
    });
    let contract = Arc::new(Contract::of(&[FILE_DESCRIPTOR_SET.to_vec()]));
    let method = contract.method(path).unwrap();
    let held = Arc::new(budget.begin(method.client_streaming).unwrap());
    let body = RequestBody::new(Body::new(StreamBody::new(frames)), method, contract, held, WITHIN);
    (sender, body)
}

const INGEST: &str = "/emend.v1.RetrieverService/Ingest";
const SEARCH: &str = "/emend.v1.WebSearchService/Search";

/// A message of so many bytes with its header: a field that is not known.
fn message(bytes: usize) -> Vec<u8> {
    let mut message = vec![0];
    message.extend(u32::try_from(bytes).unwrap().to_be_bytes());
    let mut content = vec![0xc2, 0x3e];
    prost::encoding::encode_varint((bytes - 5) as u64, &mut content);
    content.resize(bytes, 0);
    message.extend(content);
    message
}

/// The next frame; fails a test that would wait for ever.
async fn next(body: &mut RequestBody) -> Result<Frame<Bytes>, Status> {
    tokio::time::timeout(WITHIN, body.frame()).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_stream_waits_until_there_is_room_for_its_message() {
    let budget = Budget::new(1);
    let ((one, mut first), (two, mut second)) = (body(&budget, INGEST), body(&budget, INGEST));
    one.send(message(600_000)).await.unwrap();
    two.send(message(600_000)).await.unwrap();
    assert!(next(&mut first).await.is_ok());
    assert!(second.frame().now_or_never().is_none(), "there is no room");
    // The next message gives back what the one before had.
    one.send(message(1000)).await.unwrap();
    assert!(next(&mut first).await.is_ok());
    assert!(next(&mut second).await.is_ok());
    // What the second has comes free with its end.
    one.send(message(700_000)).await.unwrap();
    assert!(first.frame().now_or_never().is_none());
    drop(second);
    assert!(next(&mut first).await.is_ok());
}

#[tokio::test]
async fn a_message_of_a_stream_that_will_never_have_room_is_refused() {
    let budget = Budget::new(1);
    let (sender, mut body) = body(&budget, INGEST);
    // The header says so, before there is a message.
    sender.send(message(2 << 20)[..HEADER_BYTES].to_vec()).await.unwrap();
    let refused = body.frame().await.unwrap().unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn a_request_holds_its_bytes_and_what_is_built_from_them() {
    let budget = Budget::new(1);
    let (sender, mut body) = body(&budget, SEARCH);
    let free = budget.free();
    sender.send(message(1000)).await.unwrap();
    assert!(body.frame().await.unwrap().is_ok());
    assert_eq!(budget.free(), free - 1000 - HEADER_BYTES);
    // Domains without a letter: two bytes each on the wire, 48 in a list that grows.
    let domains = [0x1a, 0].repeat(100);
    let mut message = vec![0, 0, 0, 0, 200];
    message.extend(&domains);
    sender.send(message).await.unwrap();
    assert!(body.frame().await.unwrap().is_ok());
    assert_eq!(budget.free(), free - 1000 - HEADER_BYTES - 205 - 4800);
    drop(body);
    assert_eq!(budget.free(), 1 << 20);
}

#[tokio::test]
async fn large_requests_are_built_one_after_the_other_and_small_ones_in_between() {
    let budget = Budget::new(1);
    let [(one, mut first), (two, mut second), (three, mut small)] = [(); 3].map(|()| body(&budget, SEARCH));
    for (sender, bytes) in [(one, LARGE_BYTES), (two, LARGE_BYTES), (three, 1000)] {
        sender.send(message(bytes)).await.unwrap();
    }
    assert!(next(&mut first).await.is_ok());
    assert!(second.frame().now_or_never().is_none(), "the first is being built");
    assert!(!http_body::Body::is_end_stream(&second));
    assert!(next(&mut small).await.is_ok());
    // Who looks for the end has built what there was.
    assert!(first.frame().await.is_none());
    assert!(next(&mut second).await.is_ok());
    // One that is given up while it is built, or while it waits, keeps nobody waiting.
    let (sender, mut third) = body(&budget, SEARCH);
    sender.send(message(LARGE_BYTES)).await.unwrap();
    assert!(third.frame().now_or_never().is_none());
    drop(second);
    assert!(next(&mut third).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_come_is_not_waited_for_without_end() {
    let budget = Budget::new(1);
    let (sender, mut body) = body(&budget, SEARCH);
    sender.send(message(1000)[..500].to_vec()).await.unwrap();
    assert!(body.frame().await.unwrap().is_ok());
    let late = tokio::time::timeout(WITHIN * 2, body.frame()).await.unwrap();
    assert_eq!(late.unwrap().unwrap_err().code(), Code::DeadlineExceeded);
    // A stream may take as long as it takes.
    let (_sender, mut body) = self::body(&budget, INGEST);
    assert!(tokio::time::timeout(WITHIN * 100, body.frame()).await.is_err());
}

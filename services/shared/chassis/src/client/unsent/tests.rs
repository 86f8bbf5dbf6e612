use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::{BodyExt as _, Full};
use tower::service_fn;

use super::*;

fn request() -> http::Request<Body> {
    http::Request::new(Body::new(Full::new(Bytes::from_static(b"question")).map_err(never)))
}

fn never(error: Infallible) -> Status {
    match error {}
}

/// A connection that closes before it reads a call, or after, and serves the calls after `closings`.
async fn sent(closings: usize, reads: bool) -> (Result<Bytes, Code>, usize) {
    sent_to(closings, reads, || Status::cancelled("connection closed").into()).await
}

/// The same, with what it says when it closes.
async fn sent_to(closings: usize, reads: bool, says: fn() -> BoxError) -> (Result<Bytes, Code>, usize) {
    let calls = Arc::new(AtomicUsize::new(0));
    let service = {
        let calls = Arc::clone(&calls);
        service_fn(move |request: http::Request<Body>| {
            let call = calls.fetch_add(1, Ordering::SeqCst);
            async move {
                let mut body = request.into_body();
                if call >= closings {
                    return Ok(body.collect().await?.to_bytes());
                }
                if reads {
                    body.frame().await;
                }
                Err::<_, BoxError>(says())
            }
        })
    };
    let answered = send(|request| once(service.clone(), request), request()).await;
    let answered = answered.map_err(|failed| failed.status.code());
    (answered, calls.load(Ordering::SeqCst))
}

#[tokio::test]
async fn a_call_that_a_closing_connection_gives_back_is_sent_whole_on_another() {
    assert_eq!(sent(0, false).await, (Ok(Bytes::from_static(b"question")), 1));
    assert_eq!(sent(9, false).await, (Ok(Bytes::from_static(b"question")), 10));
}

#[tokio::test]
async fn a_call_that_comes_back_every_time_fails() {
    assert_eq!(sent(99, false).await, (Err(Code::Cancelled), 16));
    let unreachable = || Status::unavailable("connection refused").into();
    assert_eq!(sent_to(99, false, unreachable).await, (Err(Code::Unavailable), 3));
}

#[tokio::test]
async fn a_call_that_was_read_may_have_been_served_and_is_not_sent_again() {
    assert_eq!(sent(1, true).await, (Err(Code::Cancelled), 1));
}

#[tokio::test]
async fn a_call_that_was_read_and_that_the_server_left_out_is_sent_again_from_its_beginning() {
    let mut calls = 0;
    let answered = send(
        |request| {
            calls += 1;
            let left_out = calls == 1;
            async move {
                let question = request.into_body().collect().await?.to_bytes();
                match left_out {
                    true => Err(Failed {
                        unprocessed: true,
                        ..Status::unavailable("going away").into()
                    }),
                    false => Ok(question),
                }
            }
        },
        request(),
    );
    assert_eq!(answered.await.unwrap(), "question");
}

#[tokio::test]
async fn what_is_too_large_to_keep_is_not_sent_again() {
    let large = Full::new(Bytes::from(vec![0; MAX_KEPT_BYTES + 1])).map_err(never);
    let mut calls = 0;
    let answered = send(
        |request| {
            calls += 1;
            async move {
                request.into_body().collect().await?;
                Err::<(), _>(Failed {
                    unprocessed: true,
                    ..Status::unavailable("going away").into()
                })
            }
        },
        http::Request::new(Body::new(large)),
    );
    assert_eq!(answered.await.unwrap_err().status.code(), Code::Unavailable);
    assert_eq!(calls, 1);
}

#[tokio::test]
async fn only_the_servers_own_word_says_that_it_left_a_call_out() {
    let refused_here = || h2::Error::from(h2::Reason::REFUSED_STREAM).into();
    assert_eq!(sent_to(1, true, refused_here).await.1, 1);
}

#[tokio::test]
async fn other_errors_are_returned_as_they_are() {
    let service = service_fn(|_: http::Request<Body>| async {
        Err::<Bytes, BoxError>(Status::unavailable("nobody listens").into())
    });
    let failed = send(|request| once(service, request), request()).await.unwrap_err();
    let status = failed.status;
    assert_eq!((status.code(), status.message()), (Code::Unavailable, "nobody listens"));
}

//! Concurrency limit, pauses and retries, over real sockets.

use emend_core::ServiceError as _;
use futures::future::join_all;

use super::super::limit::Held;
use super::*;

#[tokio::test]
async fn no_more_calls_at_once_than_configured_and_each_gets_its_turn() {
    let server = HttpServer::start(|_, _| reply_with("ok")).await.shut();
    let client = server.client(&["--llm-concurrency", "3"]);
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.complete(ask()).await })
        })
        .collect();
    server.wait_for(3).await;
    server.open();
    for call in calls {
        assert!(call.await.unwrap().is_ok());
    }
    assert_eq!((server.seen().requests, server.seen().most), (8, 3));
}

#[tokio::test]
async fn a_stream_keeps_its_turn_until_it_is_dropped() {
    let open: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n";
    let server = HttpServer::start(move |number, _| match number {
        0 => HttpAnswer::Stuck(pieces(&[open])),
        _ => reply_with("ok"),
    })
    .await;
    let client = server.client(&["--llm-concurrency", "1"]);
    let mut stream = client.stream(ask());
    assert_eq!(stream.next().await, Some(Ok(ChatDelta::Text("half".to_owned()))));
    let turn = client.inner.limit.admit(Instant::now()).await;
    assert_eq!(turn.err(), Some(Held::OutOfTime));
    drop(stream);
    assert!(client.complete(ask()).await.is_ok());
}

#[tokio::test]
async fn a_storm_of_429_costs_ten_retries_and_no_more() {
    let server = HttpServer::start(|_, _| busy("retry-after: 0\r\n")).await;
    let client = server.client(&["--llm-concurrency", "8"]);
    let replies = join_all((0..40).map(|_| client.complete(ask()))).await;
    assert!(
        replies
            .iter()
            .all(|reply| matches!(reply, Err(ChatError::RateLimited { .. })))
    );
    assert_eq!(server.seen().requests, 40 + 10);
    assert_eq!(client.inner.limit.allowed(), 1);
    // The limit does not reset by itself.
    assert!(client.complete(ask()).await.is_err());
    assert_eq!(server.seen().requests, 51);
}

#[tokio::test]
async fn a_429_shrinks_the_limit_and_successes_bring_it_back() {
    let server = HttpServer::start(|number, _| match number {
        0 => busy("retry-after: 0\r\n"),
        _ => reply_with("ok"),
    })
    .await;
    let client = server.client(&["--llm-concurrency", "4"]);
    client.complete(ask()).await.unwrap();
    assert_eq!(client.inner.limit.allowed(), 2);
    join_all((0..6).map(|_| client.complete(ask()))).await;
    assert_eq!(client.inner.limit.allowed(), 4);
    assert!(server.seen().most <= 4, "{:?}", server.seen());
}

#[tokio::test]
async fn a_429_without_a_time_is_tried_again_after_a_while() {
    let server = HttpServer::start(|number, _| match number {
        0 => busy(""),
        _ => reply_with("ok"),
    })
    .await;
    let receipt = crate::chat::Receipt::default();
    let request = ChatRequest {
        receipt: receipt.clone(),
        ..ask()
    };
    assert!(server.client(&[]).complete(request).await.is_ok());
    assert_eq!((server.seen().requests, receipt.calls()), (2, 2), "a retry is a call");
}

#[tokio::test]
async fn a_pause_that_the_server_asks_for_holds_for_every_call() {
    let date = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_secs(7200));
    for header in ["retry-after: 3600\r\n".to_owned(), format!("retry-after: {date}\r\n")] {
        let server = HttpServer::start(move |_, _| busy(&header)).await;
        let client = server.client(&[]);
        let first = client.complete(ask()).await.unwrap_err();
        assert!(first.retry_after() > Some(Duration::from_secs(3500)), "{first:?}");
        // The other calls fail at once, without a request.
        for _ in 0..5 {
            let receipt = crate::chat::Receipt::default();
            let request = ChatRequest {
                receipt: receipt.clone(),
                ..ask()
            };
            let error = client.complete(request).await.unwrap_err();
            assert!(matches!(error, ChatError::RateLimited { .. }), "{error}");
            assert!(error.retry_after() > Some(Duration::from_secs(500)), "{error:?}");
            assert_eq!(receipt.calls(), 0);
        }
        assert_eq!(server.seen().requests, 1);
    }
}

#[tokio::test]
async fn servers_that_are_down_are_not_stormed_either() {
    let down = || response("503 Service Unavailable", "retry-after-ms: 0\r\n", "");
    let server = HttpServer::start(move |_, _| down()).await;
    let client = server.client(&[]);
    let replies = join_all((0..30).map(|_| client.complete(ask()))).await;
    assert!(replies.iter().all(Result::is_err));
    assert_eq!(server.seen().requests, 40);
}

#[tokio::test]
async fn nothing_outlives_the_deadline() {
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n".to_vec();
    let server = HttpServer::start(move |_, _| HttpAnswer::Stuck(vec![half.clone()])).await;
    let client = server.client(&["--llm-concurrency", "2"]);
    let soon = || ChatRequest {
        deadline: Some(Instant::now() + Duration::from_millis(200)),
        ..ask()
    };
    // Two calls hang in the middle of a reply, and one never gets a slot.
    let replies = join_all((0..3).map(|_| client.complete(soon()))).await;
    assert!(
        replies
            .iter()
            .all(|reply| matches!(reply, Err(ChatError::Timeout { .. }))),
        "{replies:?}"
    );
    // Dropping the calls closes the connections and releases the slots.
    server.wait_for(0).await;
    assert!(server.seen().most <= 2, "{:?}", server.seen());
    let found: Vec<_> = client.stream(soon()).collect().await;
    assert!(
        matches!(found.as_slice(), [Err(ChatError::Timeout { .. })]),
        "{found:?}"
    );
    server.wait_for(0).await;
}

#[tokio::test]
async fn a_call_that_is_dropped_gives_its_turn_back() {
    let server = HttpServer::start(|_, _| reply_with("ok")).await.shut();
    let client = server.client(&["--llm-concurrency", "1"]);
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.complete(ask()).await }
    });
    server.wait_for(1).await;
    call.abort();
    server.wait_for(0).await;
    server.open();
    assert!(client.complete(ask()).await.is_ok());
}

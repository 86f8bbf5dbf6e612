//! One timeout over the models of a chain.

use super::fallback::{LONG, answering, chain};
use super::*;

async fn hanging() -> HttpServer {
    HttpServer::start(|_, _| HttpAnswer::Stuck(Vec::new())).await
}

#[tokio::test(start_paused = true)]
async fn models_that_hang_take_one_timeout_together() {
    for streamed in [false, true] {
        let (first, second, third) = (hanging().await, hanging().await, hanging().await);
        let chat = chain(&[&first, &second, &third], &["--llm-timeout", "300ms"]);
        let began = Instant::now();
        let error = if streamed {
            let mut said: Vec<_> = chat.stream(ask()).collect().await;
            said.pop().unwrap().unwrap_err()
        } else {
            chat.complete(ask()).await.unwrap_err()
        };
        // Of the last one: each was asked.
        assert!(
            matches!(&error, ChatError::Timeout { model } if model == "other-1"),
            "{error}"
        );
        // The clock is that of the test, which waits for nothing else.
        let took = began.elapsed().as_millis();
        assert!((300..=310).contains(&took), "{took} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn the_timeout_stands_still_while_a_call_waits_for_its_slot() {
    let (first, second) = (hanging().await, hanging().await);
    let busy = first.client(&["--llm-concurrency", "1"]);
    let slot = busy.inner.limit.admit(Instant::now() + LONG).await.unwrap();
    let timeout = Duration::from_millis(200);
    let chat = Chain::new(Arc::new(busy), vec![Arc::new(second.client(&[]))], timeout);
    let began = Instant::now();
    let asked = tokio::spawn(async move { chat.complete(ask()).await });
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(!asked.is_finished());
    drop(slot);
    assert!(matches!(asked.await.unwrap(), Err(ChatError::Timeout { .. })));
    let took = began.elapsed().as_millis();
    assert!((20_200..=20_210).contains(&took), "{took} ms");
}

#[tokio::test]
async fn a_stream_that_has_begun_has_all_the_time_that_is_left() {
    let open: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n";
    let first = HttpServer::start(move |_, _| HttpAnswer::Stuck(pieces(&[open]))).await;
    let second = answering("never asked").await;
    let chat = Chain::new(
        Arc::new(first.client(&[])),
        vec![Arc::new(second.client(&[]))],
        Duration::from_millis(500),
    );
    let began = Instant::now();
    let said: Vec<_> = chat.stream(ask()).collect().await;
    assert!(
        matches!(said.as_slice(), [Ok(ChatDelta::Text(text)), Err(ChatError::Timeout { .. })] if text == "half"),
        "{said:?}"
    );
    assert!(began.elapsed() >= Duration::from_millis(500), "{:?}", began.elapsed());
    assert_eq!(second.seen().requests, 0);
}

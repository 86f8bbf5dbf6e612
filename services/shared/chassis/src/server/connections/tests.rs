use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};

use super::*;
use crate::tests::fixture::hang_guard;

async fn place() -> OwnedSemaphorePermit {
    Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_whole_preface_is_closed_after_a_while() {
    for said in [&b""[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n"] {
        let (mut client, server) = tokio::io::duplex(64);
        let mut server = Connection::new(server, place().await);
        let begun = Instant::now();
        client.write_all(said).await.unwrap();
        let mut read = Vec::new();
        let reading = timeout(silence::PREFACE_TIMEOUT * 2, server.read_to_end(&mut read));
        let error = reading.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        assert!(begun.elapsed() >= silence::PREFACE_TIMEOUT);
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_began_may_be_silent_for_as_long_as_it_likes() {
    let (mut client, server) = tokio::io::duplex(64);
    let mut server = Connection::new(server, place().await);
    client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    let mut said = Vec::new();
    let reading = timeout(silence::PREFACE_TIMEOUT * 100, server.read_to_end(&mut said));
    assert!(reading.await.is_err(), "it was closed");
}

#[tokio::test]
async fn connections_above_the_most_are_closed_until_one_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, mut accepted) = mpsc::channel(1);
    tokio::spawn(async move { accept(listener, &[sender], 1).await });
    let _first = TcpStream::connect(address).await.unwrap();
    let (_connection, place) = accepted.recv().await.unwrap();
    let mut second = TcpStream::connect(address).await.unwrap();
    let closed = hang_guard(async move { second.read(&mut [0]).await }).await;
    assert!(!matches!(closed, Ok(1..)), "{closed:?}");
    drop(place);
    let _third = TcpStream::connect(address).await.unwrap();
    assert!(hang_guard(async move { accepted.recv().await }).await.is_some());
}

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::*;
use crate::tests::certificates::Authority;
use crate::tests::fixture::hang_guard;
use crate::tls::{ServerTls, Wire};

async fn place() -> OwnedSemaphorePermit {
    Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_whole_preface_is_closed_after_a_while() {
    for said in [&b""[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n"] {
        let (mut client, server) = tokio::io::duplex(64);
        let mut server = Connection::new(server, place().await, PREFACE_BYTES);
        let begun = Instant::now();
        client.write_all(said).await.unwrap();
        let mut read = Vec::new();
        let reading = timeout(guard::BEGIN_TIMEOUT * 2, server.read_to_end(&mut read));
        let error = reading.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        assert!(begun.elapsed() >= guard::BEGIN_TIMEOUT);
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_began_may_be_silent_for_as_long_as_it_likes() {
    let (mut client, server) = tokio::io::duplex(64);
    let mut server = Connection::new(server, place().await, PREFACE_BYTES);
    client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    let mut said = Vec::new();
    let reading = timeout(guard::BEGIN_TIMEOUT * 100, server.read_to_end(&mut said));
    assert!(reading.await.is_err(), "it was closed");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_nothing_loses_the_connection_and_a_slow_one_does_not() {
    const WHOLE: usize = 256;
    let (_client, server) = tokio::io::duplex(64);
    let mut server = Connection::new(server, place().await, 0);
    let error = server.write_all(&[0; WHOLE]).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    let (mut slow, server) = tokio::io::duplex(64);
    slow.write_all(b"x").await.unwrap();
    let mut server = Connection::new(server, place().await, 1);
    server.read_exact(&mut [0]).await.unwrap();
    let writing = tokio::spawn(async move { server.write_all(&[0; WHOLE]).await });
    for _ in 0..WHOLE / 64 {
        tokio::time::sleep(guard::STALL_TIMEOUT / 2).await;
        slow.read_exact(&mut [0; 64]).await.unwrap();
    }
    writing.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_to_a_connection_that_ends_is_read_until_the_other_side_closes_too() {
    let (mut client, server) = tokio::io::duplex(64);
    let mut server = Connection::new(server, place().await, 0);
    let begun = Instant::now();
    let closing = tokio::spawn(async move { server.shutdown().await });
    client.read_to_end(&mut Vec::new()).await.unwrap();
    client.write_all(&[0; 4096]).await.unwrap();
    assert!(!closing.is_finished(), "a call on its way would have met a reset");
    drop(client);
    closing.await.unwrap().unwrap();
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_is_not_kept_by_a_side_that_does_not_close() {
    let (mut client, server) = tokio::io::duplex(64);
    let mut server = Connection::new(server, place().await, 0);
    let begun = Instant::now();
    let sending = tokio::spawn(async move { while client.write_all(b"more").await.is_ok() {} });
    let closing = tokio::spawn(async move { server.shutdown().await });
    while !closing.is_finished() {
        tokio::time::advance(guard::LINGER_TIMEOUT / 10).await;
    }
    assert!(begun.elapsed() >= guard::LINGER_TIMEOUT);
    sending.await.unwrap();
}

#[tokio::test]
async fn connections_above_the_most_are_closed_until_one_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, mut accepted) = mpsc::channel(1);
    tokio::spawn(async move { accept(Acceptor::new(listener, 1), &[sender]).await });
    let _first = TcpStream::connect(address).await.unwrap();
    let (_connection, place) = accepted.recv().await.unwrap();
    let mut second = TcpStream::connect(address).await.unwrap();
    let closed = hang_guard(async move { second.read(&mut [0]).await }).await;
    assert!(!matches!(closed, Ok(1..)), "{closed:?}");
    drop(place);
    let _third = TcpStream::connect(address).await.unwrap();
    assert!(hang_guard(async move { accepted.recv().await }).await.is_some());
}

/// A server's end of a connection with TLS, and the client's.
async fn encrypted(authority: &Authority) -> (Connection<Wire>, TcpStream) {
    let tls = ServerTls::load(&authority.sign("server", &["localhost"]).server()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (server, _) = listener.accept().await.unwrap();
    let wire = Greeter::new(tls).begin(server);
    (Connection::new(wire, place().await, PREFACE_BYTES), client)
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_finish_the_handshake_of_tls_is_closed_after_the_same_while() {
    let authority = Authority::new();
    // The beginning of a ClientHello, and nothing at all.
    for said in [&b"\x16\x03\x01\x02\x00\x01\x00"[..], b""] {
        let (mut server, mut client) = encrypted(&authority).await;
        client.write_all(said).await.unwrap();
        let begun = Instant::now();
        let error = timeout(guard::BEGIN_TIMEOUT * 2, server.read(&mut [0])).await.unwrap();
        assert_eq!(error.unwrap_err().kind(), std::io::ErrorKind::TimedOut);
        assert!(begun.elapsed() >= guard::BEGIN_TIMEOUT);
        // A server of HTTP/2 writes before it reads.
        let (mut server, mut client) = encrypted(&authority).await;
        client.write_all(said).await.unwrap();
        let error = timeout(guard::BEGIN_TIMEOUT * 2, server.write_all(b"settings"))
            .await
            .unwrap();
        assert_eq!(error.unwrap_err().kind(), std::io::ErrorKind::TimedOut);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_silent_after_the_handshake_of_tls_is_closed_too() {
    let authority = Authority::new();
    let (mut server, client) = encrypted(&authority).await;
    let connector = tokio_rustls::TlsConnector::from(authority.client().config());
    let name = rustls::pki_types::ServerName::try_from("localhost").unwrap();
    let client = tokio::spawn(async move { connector.connect(name, client).await });
    let error = timeout(guard::BEGIN_TIMEOUT * 2, server.read(&mut [0])).await.unwrap();
    assert_eq!(error.unwrap_err().kind(), std::io::ErrorKind::TimedOut);
    client.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_is_no_tls_fails_the_handshake_and_is_said() {
    let authority = Authority::new();
    let (mut server, mut client) = encrypted(&authority).await;
    client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    assert!(server.read(&mut [0]).await.is_err());
    drop(server);
    let mut alert = [0; 2];
    client.read_exact(&mut alert).await.unwrap();
    assert!(crate::tls::is_alert(&alert));
}

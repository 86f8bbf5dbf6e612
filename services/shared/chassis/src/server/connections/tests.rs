use tokio::io::{AsyncReadExt, AsyncWriteExt};
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

/// A server's end of a connection with TLS, and the client's.
async fn encrypted(authority: &Authority) -> (Connection<Wire>, TcpStream) {
    let tls = ServerTls::load(&authority.sign("server", &["localhost"]).server()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (server, _) = listener.accept().await.unwrap();
    (Connection::new(Greeter::new(tls).begin(server), place().await), client)
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_finish_the_handshake_of_tls_is_closed_after_the_same_while() {
    let authority = Authority::new();
    // The beginning of a ClientHello, and nothing at all.
    for said in [&b"\x16\x03\x01\x02\x00\x01\x00"[..], b""] {
        let (mut server, mut client) = encrypted(&authority).await;
        client.write_all(said).await.unwrap();
        let begun = Instant::now();
        let error = timeout(silence::PREFACE_TIMEOUT * 2, server.read(&mut [0]))
            .await
            .unwrap();
        assert_eq!(error.unwrap_err().kind(), std::io::ErrorKind::TimedOut);
        assert!(begun.elapsed() >= silence::PREFACE_TIMEOUT);
        // A server of HTTP/2 writes before it reads.
        let (mut server, mut client) = encrypted(&authority).await;
        client.write_all(said).await.unwrap();
        let error = timeout(silence::PREFACE_TIMEOUT * 2, server.write_all(b"settings"))
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
    let error = timeout(silence::PREFACE_TIMEOUT * 2, server.read(&mut [0]))
        .await
        .unwrap();
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

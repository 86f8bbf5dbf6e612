use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Semaphore;

use super::*;

async fn connection() -> (tokio::io::DuplexStream, Connection<tokio::io::DuplexStream>) {
    let place = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
    let (client, server) = tokio::io::duplex(64);
    (client, Connection::new(server, place))
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_never_says_anything_is_closed() {
    let (_client, mut server) = connection().await;
    let error = server.read(&mut [0; 8]).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_spoke_may_be_silent() {
    let (mut client, mut server) = connection().await;
    client.write_all(b"GET").await.unwrap();
    assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 3);
    let mut buffer = [0; 8];
    let reading = server.read(&mut buffer);
    assert!(tokio::time::timeout(SILENCE_TIMEOUT * 10, reading).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_nothing_loses_the_connection() {
    let (mut client, mut server) = connection().await;
    let error = server.write_all(&[0; 1000]).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    // One that takes something now and then does not.
    let (mut slow, mut server) = connection().await;
    let writing = tokio::spawn(async move { server.write_all(&[0; 256]).await });
    for _ in 0..4 {
        tokio::time::sleep(STALL_TIMEOUT / 2).await;
        slow.read_exact(&mut [0; 64]).await.unwrap();
    }
    writing.await.unwrap().unwrap();
    drop(client.read(&mut [0; 8]).await);
}

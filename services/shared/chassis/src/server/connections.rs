//! Accepting connections, and serving each on one thread.
//!
//! A connection is served on the thread of an actor, where that actor takes its calls: a call that crosses no thread wakes
//! none. Connections go to the threads in turn.

mod acceptor;
mod guard;
mod spare;

use std::net;

use actix::ArbiterHandle;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http::{Request, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::service::Routes;
use tonic::transport::server::Router;
use tower::{BoxError, Layer, Service};

use crate::error::ServeError;
use crate::tls::Greeter;
pub use acceptor::Acceptor;
pub use guard::Connection;

/// Most connections of a server. Each takes some tens of kilobytes and a file descriptor; one more is closed at once, and
/// its client goes elsewhere.
pub const MAX_CONNECTIONS: usize = 2048;
/// Bytes of the preface with which HTTP/2 begins (RFC 9113, section 3.4).
const PREFACE_BYTES: usize = 24;

/// A connection and its place among the most connections.
type Accepted = (net::TcpStream, OwnedSemaphorePermit);

/// Serves connections on `threads`, or on the current runtime where there are none, each as `greeter` begins it, until
/// `drained` resolves and the calls in flight are done.
pub(super) async fn serve<L, B>(
    router: Router<L>,
    listener: TcpListener,
    threads: &[ArbiterHandle],
    greeter: Greeter,
    drained: impl Future<Output = ()>,
) -> Result<(), ServeError>
where
    L: Layer<Routes> + Clone + Send + 'static,
    L::Service: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    <L::Service as Service<Request<Body>>>::Future: Send,
    <L::Service as Service<Request<Body>>>::Error: Into<BoxError> + Send,
    B: http_body::Body<Data = <Body as http_body::Body>::Data> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let stop = CancellationToken::new();
    let _stop_when_dropped = stop.clone().drop_guard();
    let threads: Vec<_> = match threads {
        [] => vec![None],
        threads => threads.iter().map(Some).collect(),
    };
    let mut connections = Vec::with_capacity(threads.len());
    let mut servers = FuturesUnordered::new();
    for thread in threads {
        let (sender, accepted) = mpsc::channel(1);
        let (ended, end) = oneshot::channel();
        let (router, stop, greeter) = (router.clone(), stop.clone(), greeter.clone());
        let server = async move {
            let incoming = ReceiverStream::new(accepted).map(|(connection, place)| {
                let wire = greeter.begin(TcpStream::from_std(connection)?);
                Ok::<_, BoxError>(Connection::new(wire, place, PREFACE_BYTES))
            });
            let served = router.serve_with_incoming_shutdown(incoming, stop.cancelled());
            // Without a receiver nobody waits for the end.
            drop(ended.send(served.await));
        };
        match thread {
            Some(thread) => drop(thread.spawn(server)),
            None => drop(tokio::spawn(server)),
        }
        connections.push(sender);
        servers.push(end);
    }
    let ended = tokio::select! {
        () = accept(Acceptor::new(listener, MAX_CONNECTIONS), &connections) => None,
        () = drained => None,
        ended = servers.next() => ended,
    };
    stop.cancel();
    let mut ended: Vec<_> = ended.into_iter().collect();
    while let Some(end) = servers.next().await {
        ended.push(end);
    }
    for end in ended {
        end.map_err(|_| ServeError::Thread)?.map_err(ServeError::Transport)?;
    }
    Ok(())
}

/// Hands connections to the servers in turn, until one of them is gone.
async fn accept(mut acceptor: Acceptor, servers: &[mpsc::Sender<Accepted>]) {
    let mut turn = servers.iter().cycle();
    loop {
        let (connection, place) = acceptor.accept().await;
        let Some(server) = turn.next() else { return };
        match connection.into_std() {
            Ok(connection) => {
                if server.send((connection, place)).await.is_err() {
                    return;
                }
            }
            Err(error) => tracing::warn!(%error, "a connection could not be handed to its thread"),
        }
    }
}

#[cfg(test)]
mod tests;

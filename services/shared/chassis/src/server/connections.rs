//! Accepting connections, and serving each on one thread.
//!
//! A connection is served on the thread of an actor, where that actor takes its calls: a call that crosses no thread wakes
//! none. Connections go to the threads in turn.

use std::net;
use std::time::Duration;

use actix::ArbiterHandle;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http::{Request, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::service::Routes;
use tonic::transport::server::{Router, TcpIncoming};
use tower::{BoxError, Layer, Service};

use crate::error::ServeError;

/// Pause after an error of `accept` itself, which is mostly that the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves connections on `threads`, or on the current runtime where there are none, until `drained` resolves and the
/// calls in flight are done.
pub(super) async fn serve<L, B>(
    router: Router<L>,
    listener: TcpListener,
    threads: &[ArbiterHandle],
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
        let (router, stop) = (router.clone(), stop.clone());
        let server = async move {
            let incoming = ReceiverStream::new(accepted).map(TcpStream::from_std);
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
        () = accept(listener, &connections) => None,
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
async fn accept(listener: TcpListener, servers: &[mpsc::Sender<net::TcpStream>]) {
    let mut incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let mut turn = servers.iter().cycle();
    while let (Some(accepted), Some(server)) = (incoming.next().await, turn.next()) {
        match accepted.and_then(TcpStream::into_std) {
            Ok(connection) => {
                if server.send(connection).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

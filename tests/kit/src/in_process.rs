//! A service in the process of its test.

use std::{fmt::Display, future::Future, time::Duration};

use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::transport::Channel;

/// A service on a free port of this machine. It stops when this is dropped.
#[derive(Debug)]
pub struct InProcess {
    /// A connection to it.
    pub channel: Channel,
    stop: DropGuard,
    served: JoinHandle<Result<(), String>>,
}

impl InProcess {
    /// Serves until the token is cancelled.
    pub async fn start<F, E>(serve: impl FnOnce(TcpListener, CancellationToken) -> F) -> Self
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Display,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shutdown = CancellationToken::new();
        let serving = serve(listener, shutdown.clone());
        Self {
            channel: Channel::from_shared(url).unwrap().connect_lazy(),
            stop: shutdown.drop_guard(),
            served: tokio::spawn(async move { serving.await.map_err(|error| error.to_string()) }),
        }
    }

    /// Stops it and waits for its end, which must come within a minute and without an error.
    pub async fn stop(self) {
        drop((self.channel, self.stop));
        let ended = tokio::time::timeout(Duration::from_secs(60), self.served).await;
        ended.unwrap().unwrap().unwrap();
    }
}

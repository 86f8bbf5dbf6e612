//! Accepting connections, no more than so many at once.

use std::sync::Arc;
use std::time::Duration;

use emend_core::Backoff;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::spare::Spare;

/// Pauses after errors of `accept` itself.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1));

/// A listener that closes connections above the most that there may be, and goes on whatever fails.
#[derive(Debug)]
pub struct Acceptor {
    listener: TcpListener,
    places: Arc<Semaphore>,
    spare: Spare,
    failures: u32,
    closed: u64,
}

impl Acceptor {
    /// Takes at most `most` connections at once.
    pub fn new(listener: TcpListener, most: usize) -> Self {
        Self {
            listener,
            places: Arc::new(Semaphore::new(most)),
            spare: Spare::new(),
            failures: 0,
            closed: 0,
        }
    }

    /// The next connection, and its place among the most, to be kept as long as the connection. May be called off.
    pub async fn accept(&mut self) -> (TcpStream, OwnedSemaphorePermit) {
        loop {
            let connection = match self.listener.accept().await {
                Ok((connection, _)) => connection,
                Err(error) => {
                    if self.spare.close_one(&self.listener, &error) {
                        self.closed("the process has no file descriptors left: raise its limit (ulimit -n)");
                        continue;
                    }
                    self.failures = self.failures.saturating_add(1);
                    if self.failures.is_power_of_two() {
                        tracing::warn!(%error, failures = self.failures, "a connection could not be accepted");
                    }
                    tokio::time::sleep(BACKOFF.after(self.failures)).await;
                    continue;
                }
            };
            self.failures = 0;
            let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
                self.closed("there are as many connections as the server takes: add a replica");
                continue;
            };
            // Without it a small answer may wait for the acknowledgement of the one before.
            if let Err(error) = connection.set_nodelay(true) {
                tracing::debug!(%error, "a connection has no TCP_NODELAY");
            }
            return (connection, place);
        }
    }

    /// Counts a connection that was closed as it came, and says so ever more rarely.
    fn closed(&mut self, reason: &str) {
        self.closed += 1;
        if self.closed.is_power_of_two() {
            tracing::warn!(closed = self.closed, reason, "a connection was closed as it came");
        }
    }
}

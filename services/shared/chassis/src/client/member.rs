//! One server behind a name: its connection, what it has to do, and whether it answers.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError};
use std::time::Duration;

use emend_core::Deadline;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};
use tonic::transport::{Channel, Endpoint};

use super::dial::Dial;
use crate::tls::{explain, is_alert};

/// Calls in a row that a server may leave unanswered before others are asked.
const MAX_TIMEOUTS: u32 = 5;
/// A call that was given less time says nothing about the server.
const MIN_PATIENCE: Duration = Duration::from_secs(1);
/// How long a server that does not answer is left alone before it gets a call again.
const REST: Duration = Duration::from_secs(10);
/// The beginning of HTTP/2 on the client's side: the preface, and a SETTINGS frame that sets nothing (RFC 9113, sections
/// 3.4 and 6.5).
const GREETING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// Bytes of the header of a frame.
const FRAME_HEADER_BYTES: usize = 9;
/// The type of a SETTINGS frame, with which a server begins.
const SETTINGS: u8 = 4;

/// A server behind a name.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) address: SocketAddr,
    pub(super) channel: Channel,
    dial: Dial,
    /// Calls that it has.
    calls: AtomicUsize,
    /// Calls in a row that it did not answer; it is left alone from [`MAX_TIMEOUTS`] on.
    timeouts: AtomicU32,
    /// Until when it is left alone.
    rests_until: SyncMutex<Instant>,
    /// When it was last greeted, and whether it answered.
    greeted: Mutex<Option<(Instant, bool)>>,
}

impl Member {
    /// A server that is connected to with its first call. Inside a tokio runtime.
    pub(super) fn new(address: SocketAddr, endpoint: &Endpoint, dial: &Dial) -> Arc<Self> {
        Arc::new(Self {
            address,
            channel: dial.channel(address, endpoint),
            dial: dial.clone(),
            calls: AtomicUsize::new(0),
            timeouts: AtomicU32::new(0),
            rests_until: SyncMutex::new(Instant::now()),
            greeted: Mutex::new(None),
        })
    }

    /// Whether it does not answer, as far as is known.
    fn is_out(&self) -> bool {
        self.timeouts.load(Ordering::Relaxed) >= MAX_TIMEOUTS
    }

    /// Whether it is to get calls: it answers, or has rested.
    fn is_ready(&self) -> bool {
        !self.is_out() || *self.rests_until() <= Instant::now()
    }

    fn rest(&self) {
        *self.rests_until() = Instant::now() + REST;
    }

    /// It answered a call.
    pub(super) fn answered(&self) {
        if self.timeouts.load(Ordering::Relaxed) > 0 && self.timeouts.swap(0, Ordering::Relaxed) >= MAX_TIMEOUTS {
            tracing::info!(address = %self.address, "a server answers again");
        }
    }

    /// It left a call unanswered for so long, to the deadline.
    pub(super) fn timed_out(&self, waited: Duration) {
        if waited >= MIN_PATIENCE {
            self.unanswered(1);
        }
    }

    fn unanswered(&self, calls: u32) {
        let before = self.timeouts.fetch_add(calls, Ordering::Relaxed);
        if before + calls >= MAX_TIMEOUTS {
            if before < MAX_TIMEOUTS {
                tracing::warn!(address = %self.address, "a server does not answer: others are asked");
            }
            self.rest();
        }
    }

    /// Resolves when the server is found not to answer: it is greeted after `patience`, and again and again, on a connection
    /// of its own, and has `limit` to answer. Calls that wait together greet it once.
    pub(super) async fn silent(&self, patience: Duration, limit: Duration) {
        loop {
            sleep(patience).await;
            let mut greeted = self.greeted.lock().await;
            let fresh = greeted.filter(|(at, _)| at.elapsed() < patience);
            let answers = match fresh {
                Some((_, answers)) => answers,
                None => {
                    // One that refuses is there, and may be draining: the calls that it has can still end well.
                    let answers = !matches!(greet(&self.dial, self.address, limit).await, Err(Unanswered::Late(_)));
                    *greeted = Some((Instant::now(), answers));
                    answers
                }
            };
            if !answers {
                self.unanswered(MAX_TIMEOUTS);
                return;
            }
        }
    }

    // A panic while the lock is held leaves nothing half-done.
    fn rests_until(&self) -> MutexGuard<'_, Instant> {
        self.rests_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that a server has, until it is dropped.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) member: Arc<Member>,
    /// Since when, and until when, an answer is waited for; none once it is there.
    waits: Option<(Instant, Deadline)>,
}

impl Load {
    /// Gives a call to one of the servers: of two that are drawn the one with fewer calls, which spreads them nearly as
    /// well as looking at all (the power of two choices). One that does not answer gets a call only after a rest, or where
    /// there is no other.
    pub(super) fn on(members: &[Arc<Member>], deadline: Deadline) -> Option<Self> {
        let start = fastrand::usize(..members.len().max(1));
        let (before, after) = members.split_at_checked(start)?;
        let mut drawn = after.iter().chain(before);
        let chosen = drawn
            .clone()
            .filter(|member| member.is_ready())
            .take(2)
            .min_by_key(|member| member.calls.load(Ordering::Relaxed))
            .or_else(|| drawn.next())?;
        if chosen.is_out() {
            // To see whether it answers, one call is enough.
            chosen.rest();
        }
        chosen.calls.fetch_add(1, Ordering::Relaxed);
        Some(Self {
            member: Arc::clone(chosen),
            waits: Some((Instant::now(), deadline)),
        })
    }

    /// The server answered, whatever it said.
    pub(super) fn answered(&mut self) {
        self.waits = None;
        self.member.answered();
    }

    /// There will be no answer, which is known by other means than waiting.
    pub(super) fn failed(&mut self) {
        self.waits = None;
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.member.calls.fetch_sub(1, Ordering::Relaxed);
        if let Some((since, deadline)) = self.waits
            && deadline.is_expired()
        {
            self.member.timed_out(since.elapsed());
        }
    }
}

/// Why there is no answer to a greeting.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unanswered {
    /// A process that is stopped still has its connections accepted, by the operating system.
    #[error("no answer in {0:?}")]
    Late(Duration),
    #[error("{0}")]
    Tls(String),
    #[error("it wants TLS: write https:// in place of http://")]
    WantsTls,
    #[error(transparent)]
    Connection(io::Error),
    #[error("what answers does not speak HTTP/2")]
    NotHttp2,
}

impl From<io::Error> for Unanswered {
    fn from(error: io::Error) -> Self {
        match explain(&error) {
            Some(reason) => Self::Tls(reason),
            None => Self::Connection(error),
        }
    }
}

/// Connects to a server and waits until it begins to speak, which takes more than to accept a connection.
pub(super) async fn greet(dial: &Dial, address: SocketAddr, limit: Duration) -> Result<(), Unanswered> {
    let greeting = async {
        let mut connection = dial.connect(address).await?;
        connection.write_all(GREETING).await?;
        connection.flush().await?;
        let mut header = [0; FRAME_HEADER_BYTES];
        let mut read = 0;
        while read < FRAME_HEADER_BYTES {
            match connection.read(&mut header[read..]).await? {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                more => read += more,
            }
            // An alert is shorter than the header of a frame, and the end of what a server of TLS says to those without.
            if is_alert(&header[..read]) {
                return Err(Unanswered::WantsTls);
            }
        }
        match header[3] {
            SETTINGS => Ok(()),
            _ => Err(Unanswered::NotHttp2),
        }
    };
    timeout(limit, greeting).await.unwrap_or(Err(Unanswered::Late(limit)))
}

#[cfg(test)]
mod tests;

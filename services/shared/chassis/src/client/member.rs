//! One server behind a name: its connection, what it has to do, and how it does.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::Duration;

use emend_core::Deadline;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};
use tonic::transport::{Channel, Endpoint};

use super::dial::Dial;
use super::outlier::{Ejection, Fault, MAX_FAILURES, Standing, is_slow};
use crate::metrics::UpstreamMetrics;
use crate::tls::{explain, is_alert};

/// A call that was given less time says nothing about the server.
const MIN_PATIENCE: Duration = Duration::from_secs(1);
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
    standing: SyncMutex<Standing>,
    /// When it was last greeted, and whether it answered.
    greeted: Mutex<Option<(Instant, bool)>>,
    metrics: Arc<UpstreamMetrics>,
}

impl Member {
    /// A server that is connected to with its first call. Inside a tokio runtime.
    pub(super) fn new(
        address: SocketAddr,
        endpoint: &Endpoint,
        dial: &Dial,
        metrics: &Arc<UpstreamMetrics>,
    ) -> Arc<Self> {
        Arc::new(Self {
            address,
            channel: dial.channel(address, endpoint),
            dial: dial.clone(),
            calls: AtomicUsize::new(0),
            standing: SyncMutex::default(),
            greeted: Mutex::new(None),
            metrics: Arc::clone(metrics),
        })
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
                return;
            }
        }
    }

    /// Ejects it if it is slow among `all`, of which at least half are to stay.
    fn eject_if_slow(&self, all: &[Arc<Self>]) -> bool {
        let Some(latency) = self.latency() else {
            return false;
        };
        let ready = all.iter().filter(|member| member.ejection().is_none());
        if 2 * (ready.count().saturating_sub(1)) < all.len() {
            return false;
        }
        let others = all.iter().filter(|member| member.address != self.address);
        let mut others: Vec<_> = others.filter_map(|member| member.latency()).collect();
        others.sort_unstable();
        let slow = others
            .get(others.len() / 2)
            .is_some_and(|median| is_slow(latency, *median));
        if slow {
            let ejected = self.standing(|standing| standing.eject(Fault::Slow));
            self.say(ejected, Fault::Slow);
        }
        slow
    }

    fn say(&self, ejected: bool, fault: Fault) {
        if ejected {
            self.metrics.ejected(fault.name());
            tracing::warn!(address = %self.address, %fault, "a server is left alone for a while: others are asked");
        }
    }

    /// Looks at how it does, or changes it. The lock is never handed out: two threads that each hold one server's, and
    /// compare it with the other's, would wait for ever.
    fn standing<T>(&self, look: impl FnOnce(&mut Standing) -> T) -> T {
        // A panic while the lock is held leaves nothing half-done.
        look(&mut self.standing.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn latency(&self) -> Option<Duration> {
        self.standing(|standing| standing.latency())
    }

    fn ejection(&self) -> Option<Ejection> {
        self.standing(|standing| standing.ejection())
    }
}

/// Every server of a name rests: its circuit is open.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{address} {fault}{said}, and is asked again in {} ms", left.as_millis())]
pub(super) struct Resting {
    /// The server that is asked again first.
    address: SocketAddr,
    fault: Fault,
    /// What it said, in brackets; empty if nothing.
    said: String,
    left: Duration,
}

/// A call that a server has, until it is dropped.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) member: Arc<Member>,
    began: Instant,
    /// Calls that the server had then, with this one.
    calls: u32,
    /// Until when an answer is waited for; none once it is there, or known not to come.
    waits: Option<Deadline>,
}

impl Load {
    /// Gives a call to one of the servers: of two that are drawn the one with fewer calls, which spreads them nearly as
    /// well as looking at all (the power of two choices). One that is ejected gets a call only after a rest, or for being
    /// slow where there is no other.
    ///
    /// # Errors
    /// [`Resting`] where every server rests; `None` of it where there is no server.
    pub(super) fn on(members: &[Arc<Member>], deadline: Deadline) -> Result<Self, Option<Resting>> {
        let start = fastrand::usize(..members.len().max(1));
        let (before, after) = members.split_at_checked(start).unwrap_or_default();
        let mut drawn = after
            .iter()
            .chain(before)
            .filter(|member| member.standing(|standing| standing.is_ready()));
        let chosen = match (drawn.next(), drawn.next()) {
            (Some(one), Some(other)) => {
                let slower = |one: &Member, other: &Member| {
                    let both = one.latency().zip(other.latency());
                    both.is_some_and(|(one, other)| is_slow(one, other))
                };
                if slower(one, other) && one.eject_if_slow(members) {
                    other
                } else if slower(other, one) && other.eject_if_slow(members)
                    || one.calls.load(Ordering::Relaxed) <= other.calls.load(Ordering::Relaxed)
                {
                    one
                } else {
                    other
                }
            }
            (Some(one), None) => one,
            // Slow is better than nothing.
            (None, _) => match slow(members) {
                Some(slow) => slow,
                None => return Err(resting(members)),
            },
        };
        let began = chosen.standing(|standing| standing.begin());
        let others = chosen.calls.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            member: Arc::clone(chosen),
            began,
            calls: u32::try_from(others).unwrap_or(u32::MAX).saturating_add(1),
            waits: Some(deadline),
        })
    }

    /// Whether it is the one call that sees how an ejected server does.
    pub(super) fn is_probe(&self) -> bool {
        self.member.ejection().is_some()
    }

    /// The server answered, whatever it said.
    pub(super) fn answered(&mut self) {
        self.waits = None;
        let took = self.began.elapsed();
        self.member.standing(|standing| standing.answered(took, self.calls));
    }

    /// The server did what it was asked to. Whether it comes back by it.
    pub(super) fn worked(mut self) -> bool {
        self.waits = None;
        let back = self.member.standing(|standing| standing.worked(self.began));
        if back {
            tracing::info!(address = %self.member.address, "a server works again");
        }
        back
    }

    /// The server failed, and said this.
    pub(super) fn failed(mut self, said: &str) {
        self.waits = None;
        self.member.standing(|standing| standing.say(said));
        self.fault(Fault::Fails, 1);
    }

    /// The server was found not to answer, neither this call nor anybody.
    pub(super) fn silent(&mut self) {
        self.waits = None;
        self.fault(Fault::Silent, MAX_FAILURES);
    }

    /// There will be no answer, which says nothing of the server.
    pub(super) fn returned(&mut self) {
        self.waits = None;
    }

    fn fault(&self, fault: Fault, failures: u32) {
        let ejected = self
            .member
            .standing(|standing| standing.failed(self.began, fault, failures));
        self.member.say(ejected, fault);
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.member.calls.fetch_sub(1, Ordering::Relaxed);
        if self.waits.is_some_and(|deadline| deadline.is_expired()) && self.began.elapsed() >= MIN_PATIENCE {
            self.fault(Fault::Silent, 1);
        }
    }
}

/// Of the servers that were ejected for being slow the one with the fewest calls.
fn slow(members: &[Arc<Member>]) -> Option<&Arc<Member>> {
    let is_slow = |member: &Member| member.ejection().is_some_and(|ejection| ejection.fault == Fault::Slow);
    let slow = members.iter().filter(|member| is_slow(member));
    slow.min_by_key(|member| member.calls.load(Ordering::Relaxed))
}

/// The first of the servers that is asked again.
fn resting(members: &[Arc<Member>]) -> Option<Resting> {
    let ejected = members.iter().filter_map(|member| Some((member, member.ejection()?)));
    let (member, ejection) = ejected.min_by_key(|(_, ejection)| ejection.until)?;
    let said = match ejection.fault {
        Fault::Fails => format!(" ({})", member.standing(|standing| standing.said().to_owned())),
        Fault::Silent | Fault::Slow => String::new(),
    };
    Some(Resting {
        address: member.address,
        fault: ejection.fault,
        said,
        left: ejection.until.saturating_duration_since(Instant::now()),
    })
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

//! Which servers stand behind a name, looked up again and again.
//!
//! gRPC keeps one connection open, so a name resolved once pins a client to one replica. An address found here gets calls
//! only after a server there spoke HTTP/2, and all are tried again as soon as a call fails: calls go to live servers only,
//! and when there are none the call knows why.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tonic::transport::Endpoint;

use emend_core::list_names;

use super::dial::Dial;
use super::member::{Member, greet};
use crate::metrics::UpstreamMetrics;

/// Looks up the addresses behind a name. Closures that return a boxed future are resolvers.
pub trait Resolve: Send + Sync + 'static {
    /// All addresses of a host at this moment, with this port; none is as good as an error.
    fn resolve(&self, host: &str, port: u16) -> BoxFuture<'static, std::io::Result<Vec<SocketAddr>>>;
}

impl<F> Resolve for F
where
    F: Fn(&str, u16) -> BoxFuture<'static, std::io::Result<Vec<SocketAddr>>> + Send + Sync + 'static,
{
    fn resolve(&self, host: &str, port: u16) -> BoxFuture<'static, std::io::Result<Vec<SocketAddr>>> {
        self(host, port)
    }
}

/// The operating system's resolver.
pub(super) fn system(host: &str, port: u16) -> BoxFuture<'static, std::io::Result<Vec<SocketAddr>>> {
    let host = host.to_owned();
    Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
}

/// Rounds of lookup asked for by failing calls are at least this far apart.
const SPACING: Duration = Duration::from_millis(20);

/// The servers behind a name.
pub(super) type Members = Arc<[Arc<Member>]>;

/// What is known about the servers.
#[derive(Clone, Debug)]
enum State {
    /// Nobody has looked yet.
    Unknown,
    /// At least one answers.
    Ready(Members),
    /// None does; the round of lookup and why.
    Nobody(u64, Arc<str>),
}

/// The calls' side of the discovery.
#[derive(Debug)]
pub(super) struct Discovery {
    state: watch::Receiver<State>,
    signals: Arc<Signals>,
}

#[derive(Debug, Default)]
struct Signals {
    /// A call was made: the addresses are worth looking up again.
    called: Notify,
    /// A call failed, or found nobody: look at once, and at every address.
    suspected: Notify,
}

impl Discovery {
    /// Starts looking with the first call; ends when `closed` is cancelled.
    pub(super) fn new(finder: Finder, closed: CancellationToken, runtime: &tokio::runtime::Handle) -> Self {
        let signals = Arc::new(Signals::default());
        let (published, state) = watch::channel(State::Unknown);
        let work = Rounds {
            finder,
            published,
            signals: Arc::clone(&signals),
            members: BTreeMap::new(),
            round: 0,
        };
        runtime.spawn(async move {
            tokio::select! {
                () = closed.cancelled() => {}
                () = work.run() => {}
            }
        });
        Self { state, signals }
    }

    /// The servers when there is one to call, or the reason why there is none. What was known before the call is not
    /// believed: a failure is always that of a fresh look.
    pub(super) async fn ready(&self) -> Result<Members, Arc<str>> {
        self.signals.called.notify_one();
        let mut state = self.state.clone();
        let known = match &*state.borrow_and_update() {
            State::Ready(members) => return Ok(Arc::clone(members)),
            State::Unknown => 0,
            State::Nobody(round, _) => *round,
        };
        if known > 0 {
            self.suspect();
        }
        loop {
            if state.changed().await.is_err() {
                return Err("the client is closed".into());
            }
            match &*state.borrow_and_update() {
                State::Ready(members) => return Ok(Arc::clone(members)),
                State::Nobody(round, reason) if *round > known => return Err(Arc::clone(reason)),
                State::Nobody(..) | State::Unknown => {}
            }
        }
    }

    /// A call failed: somebody behind the name may be gone.
    pub(super) fn suspect(&self) {
        self.signals.suspected.notify_one();
    }
}

/// How addresses are found and turned into endpoints.
pub(super) struct Finder {
    /// What the user wrote, for messages.
    pub(super) target: Arc<str>,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) every: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) dial: Dial,
    pub(super) metrics: Arc<UpstreamMetrics>,
    pub(super) endpoint: Box<dyn Fn(SocketAddr) -> Result<Endpoint, tonic::transport::Error> + Send + Sync>,
}

struct Rounds {
    finder: Finder,
    published: watch::Sender<State>,
    signals: Arc<Signals>,
    members: BTreeMap<SocketAddr, Arc<Member>>,
    round: u64,
}

impl Rounds {
    async fn run(mut self) {
        self.signals.called.notified().await;
        let mut suspicious = false;
        loop {
            self.look(suspicious).await;
            let looked = Instant::now();
            suspicious = tokio::select! {
                () = self.signals.suspected.notified() => {
                    sleep_until(looked + SPACING).await;
                    true
                }
                // No call, no lookup.
                () = async { sleep(self.finder.every).await; self.signals.called.notified().await } => false,
            };
        }
    }

    /// One round: resolves, tries what is new (or, `suspicious`, everything), and publishes what changed.
    async fn look(&mut self, suspicious: bool) {
        self.round += 1;
        let Finder { host, port, .. } = &self.finder;
        let resolving = self.finder.resolver.resolve(host, *port);
        let found = match timeout(self.finder.connect_timeout, resolving).await {
            Ok(Ok(found)) if found.is_empty() => Err("the name has no addresses".to_owned()),
            Ok(Ok(found)) => Ok(found.into_iter().collect::<BTreeSet<_>>()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no answer in {:?}", self.finder.connect_timeout)),
        };
        let mut reasons = Vec::new();
        let wanted = match found {
            Ok(found) => {
                let gone: Vec<_> = self
                    .members
                    .keys()
                    .filter(|address| !found.contains(address))
                    .copied()
                    .collect();
                gone.into_iter().for_each(|address| self.remove(address));
                found
            }
            // A lookup that fails says nothing about the servers it found before.
            Err(reason) => {
                tracing::debug!(target = &*self.finder.target, reason, "cannot resolve");
                reasons.push(format!("cannot resolve it: {reason}"));
                self.members.keys().copied().collect()
            }
        };
        let tried = wanted
            .iter()
            .copied()
            .filter(|address| suspicious || !self.members.contains_key(address));
        let limit = self.finder.connect_timeout;
        let dial = self.finder.dial.clone();
        let dial = &dial;
        let mut tried: FuturesUnordered<_> = tried
            .map(|address| async move { (address, greet(dial, address, limit).await) })
            .collect();
        while let Some((address, answered)) = tried.next().await {
            match answered {
                Ok(()) => self.insert(address, &mut reasons),
                Err(reason) => {
                    reasons.push(format!("{address}: {reason}"));
                    self.remove(address);
                }
            }
        }
        if self.members.is_empty() {
            let reason = format!("no server at {}: {}", self.finder.target, list_names(reasons));
            self.published.send_replace(State::Nobody(self.round, reason.into()));
        } else {
            self.publish();
        }
    }

    fn publish(&self) {
        let members = self.members.values().map(Arc::clone).collect();
        self.published.send_replace(State::Ready(members));
    }

    fn insert(&mut self, address: SocketAddr, reasons: &mut Vec<String>) {
        if self.members.contains_key(&address) {
            return;
        }
        match (self.finder.endpoint)(address) {
            Ok(endpoint) => {
                let member = Member::new(address, &endpoint, &self.finder.dial, &self.finder.metrics);
                self.members.insert(address, member);
                tracing::debug!(target = &*self.finder.target, %address, "server found");
                // At once: one server that hangs must not hold up calls to those that do not.
                self.publish();
            }
            Err(error) => reasons.push(format!("{address}: {error}")),
        }
    }

    fn remove(&mut self, address: SocketAddr) {
        if self.members.remove(&address).is_some() {
            // At once too; that a name has no server at all is published with the reasons.
            if !self.members.is_empty() {
                self.publish();
            }
            tracing::debug!(target = &*self.finder.target, %address, "server gone");
        }
    }
}

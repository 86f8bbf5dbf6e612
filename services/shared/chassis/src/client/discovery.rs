//! Which servers stand behind a name, looked up again and again.
//!
//! gRPC keeps one connection open, so a name resolved once pins a client to one replica. The addresses found here are fed
//! to tonic's balanced channel. That channel waits for ever while it has no endpoint and cannot say which of them failed,
//! so an address is fed only after it accepted a connection, and all are tried again as soon as a call fails: the channel
//! holds live servers only, and when there are none the call knows why.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tonic::transport::Endpoint;
use tonic::transport::channel::Change;

/// Looks up the addresses behind a name. Closures that return a boxed future are resolvers.
pub trait Resolve: Send + Sync + 'static {
    /// All addresses at this moment; none is as good as an error.
    fn resolve(&self) -> BoxFuture<'static, std::io::Result<Vec<SocketAddr>>>;
}

impl<F> Resolve for F
where
    F: Fn() -> BoxFuture<'static, std::io::Result<Vec<SocketAddr>>> + Send + Sync + 'static,
{
    fn resolve(&self) -> BoxFuture<'static, std::io::Result<Vec<SocketAddr>>> {
        self()
    }
}

/// The operating system's resolver.
pub(super) struct SystemResolver {
    pub(super) host: String,
    pub(super) port: u16,
}

impl Resolve for SystemResolver {
    fn resolve(&self) -> BoxFuture<'static, std::io::Result<Vec<SocketAddr>>> {
        let (host, port) = (self.host.clone(), self.port);
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }
}

/// Rounds of lookup asked for by failing calls are at least this far apart.
const SPACING: Duration = Duration::from_millis(20);

/// What is known about the servers.
#[derive(Clone, Debug)]
enum State {
    /// Nobody has looked yet.
    Unknown,
    /// At least one accepts connections.
    Ready,
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
    pub(super) fn new(
        finder: Finder,
        changes: mpsc::Sender<Change<SocketAddr, Endpoint>>,
        closed: CancellationToken,
        runtime: &tokio::runtime::Handle,
    ) -> Self {
        let signals = Arc::new(Signals::default());
        let (published, state) = watch::channel(State::Unknown);
        let work = Rounds {
            finder,
            changes,
            published,
            signals: Arc::clone(&signals),
            members: BTreeSet::new(),
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

    /// Resolves when there is a server to call, or with the reason why there is none. What was known before the call is
    /// not believed: a failure is always that of a fresh look.
    pub(super) async fn ready(&self) -> Result<(), Arc<str>> {
        self.signals.called.notify_one();
        let mut state = self.state.clone();
        let known = match &*state.borrow_and_update() {
            State::Ready => return Ok(()),
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
                State::Ready => return Ok(()),
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
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) every: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) endpoint: Box<dyn Fn(SocketAddr) -> Result<Endpoint, tonic::transport::Error> + Send + Sync>,
}

struct Rounds {
    finder: Finder,
    changes: mpsc::Sender<Change<SocketAddr, Endpoint>>,
    published: watch::Sender<State>,
    signals: Arc<Signals>,
    members: BTreeSet<SocketAddr>,
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
                // No call, no lookup; and so no pile of changes that no call takes in.
                () = async { sleep(self.finder.every).await; self.signals.called.notified().await } => false,
            };
        }
    }

    /// One round: resolves, tries what is new (or, `suspicious`, everything), and tells the channel what changed.
    async fn look(&mut self, suspicious: bool) {
        self.round += 1;
        let found = match timeout(self.finder.connect_timeout, self.finder.resolver.resolve()).await {
            Ok(Ok(found)) if found.is_empty() => Err("the name has no addresses".to_owned()),
            Ok(Ok(found)) => Ok(found.into_iter().collect::<BTreeSet<_>>()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no answer in {:?}", self.finder.connect_timeout)),
        };
        let mut reasons = Vec::new();
        let wanted = match found {
            Ok(found) => {
                for gone in self.members.difference(&found).copied().collect::<Vec<_>>() {
                    self.remove(gone).await;
                }
                found
            }
            // A lookup that fails says nothing about the servers it found before.
            Err(reason) => {
                tracing::debug!(target = &*self.finder.target, reason, "cannot resolve");
                reasons.push(format!("cannot resolve it: {reason}"));
                self.members.clone()
            }
        };
        let tried = wanted
            .iter()
            .copied()
            .filter(|address| suspicious || !self.members.contains(address));
        let limit = self.finder.connect_timeout;
        let mut tried: FuturesUnordered<_> = tried
            .map(|address| async move { (address, accepts(address, limit).await) })
            .collect();
        while let Some((address, accepted)) = tried.next().await {
            match accepted {
                Ok(()) => self.insert(address, &mut reasons).await,
                Err(reason) => {
                    reasons.push(format!("{address}: {reason}"));
                    self.remove(address).await;
                }
            }
        }
        if self.members.is_empty() {
            let reason = format!("no server at {}: {}", self.finder.target, reasons.join("; "));
            self.published.send_replace(State::Nobody(self.round, reason.into()));
        } else {
            self.published.send_replace(State::Ready);
        }
    }

    async fn insert(&mut self, address: SocketAddr, reasons: &mut Vec<String>) {
        if self.members.contains(&address) {
            return;
        }
        match (self.finder.endpoint)(address) {
            Ok(endpoint) => {
                self.members.insert(address);
                self.tell(Change::Insert(address, endpoint)).await;
                tracing::debug!(target = &*self.finder.target, %address, "server found");
                // At once: one server that hangs must not hold up calls to those that do not.
                self.published.send_replace(State::Ready);
            }
            Err(error) => reasons.push(format!("{address}: {error}")),
        }
    }

    async fn remove(&mut self, address: SocketAddr) {
        if self.members.remove(&address) {
            self.tell(Change::Remove(address)).await;
            tracing::debug!(target = &*self.finder.target, %address, "server gone");
        }
    }

    async fn tell(&self, change: Change<SocketAddr, Endpoint>) {
        // The channel ends only with the client, and then so does this.
        drop(self.changes.send(change).await);
    }
}

async fn accepts(address: SocketAddr, limit: Duration) -> Result<(), String> {
    match timeout(limit, TcpStream::connect(address)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no connection in {limit:?}")),
    }
}

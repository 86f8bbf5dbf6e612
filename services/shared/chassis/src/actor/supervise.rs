//! Replaces an actor that died.
//!
//! `actix::Supervisor` restarts an actor that stops, not one that panics: its task is gone, and the supervisor with it.
//! So every actor holds an [`Alive`]; when that is dropped, by a panic or by a stop, a watcher outside actix starts a new
//! actor from the factory and publishes its address.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Addr, ArbiterHandle, Context};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::RestartPolicy;
use super::system::{ActorSystem, ActorSystemError};
use crate::metrics::ActorMetrics;
use crate::server::HealthFlag;

/// Shows that an actor is alive: keep it in a field of the actor, never elsewhere. Dropping it is how the watcher learns
/// that the actor is no more.
#[derive(Debug)]
pub struct Alive {
    _dropped: oneshot::Sender<std::convert::Infallible>,
}

impl Alive {
    fn new() -> (Self, oneshot::Receiver<std::convert::Infallible>) {
        let (sender, receiver) = oneshot::channel();
        (Self { _dropped: sender }, receiver)
    }

    /// For an actor that a test starts by itself: nobody watches.
    pub fn unwatched() -> Self {
        Self::new().0
    }
}

pub(super) type Factory<A> = Arc<dyn Fn(Alive) -> A + Send + Sync>;

/// What the watcher needs to know.
pub(super) struct Supervised<A: Actor<Context = Context<A>>> {
    pub(super) name: &'static str,
    pub(super) system: ActorSystem,
    pub(super) arbiter: ArbiterHandle,
    pub(super) mailbox: usize,
    pub(super) policy: RestartPolicy,
    pub(super) health: HealthFlag,
    pub(super) metrics: ActorMetrics,
    pub(super) factory: Factory<A>,
    pub(super) published: watch::Sender<Option<Arc<Addr<A>>>>,
    pub(super) closed: CancellationToken,
}

impl<A: Actor<Context = Context<A>>> Supervised<A> {
    /// Starts the actor, and again each time it dies, until every front is gone or the system stopped.
    pub(super) async fn watch(mut self) {
        let mut deaths = Deaths::new(self.policy);
        let mut reported = false;
        loop {
            if let Some(mut alive) = self.start_actor().await {
                tokio::select! {
                    () = self.closed.cancelled() => return,
                    _ = &mut alive => {}
                    // A quiet window shows that the actor can live after all.
                    () = deaths.quiet() => {
                        if std::mem::take(&mut reported) {
                            self.health.set_serving(true);
                        }
                        tokio::select! {
                            () = self.closed.cancelled() => return,
                            _ = &mut alive => {}
                        }
                    }
                }
            }
            self.published.send_replace(None);
            if self.renew_arbiter().is_err() {
                self.health.set_serving(false);
                return;
            }
            self.metrics.restarted();
            let backoff = deaths.record();
            if deaths.too_many() {
                reported = true;
                self.health.set_serving(false);
                tracing::error!(actor = self.name, deaths = deaths.recent(), window = ?self.policy.window,
                    "the actor dies again and again: reported as not serving");
            } else {
                tracing::warn!(actor = self.name, ?backoff, "the actor died and is replaced");
            }
            tokio::select! {
                () = self.closed.cancelled() => return,
                () = tokio::time::sleep(backoff) => {}
            }
        }
    }

    /// Starts one actor and publishes its address. `None` when its factory panicked.
    async fn start_actor(&self) -> Option<oneshot::Receiver<std::convert::Infallible>> {
        let (alive, dead) = Alive::new();
        let (started, ready) = oneshot::channel();
        let factory = Arc::clone(&self.factory);
        let mailbox = self.mailbox;
        let address = A::start_in_arbiter(&self.arbiter, move |context| {
            // Before the address is published, or the first calls would meet the default capacity of sixteen.
            context.set_mailbox_capacity(mailbox);
            let actor = factory(alive);
            // The watcher waits for this; that it is gone can only mean that every front is.
            let _ = started.send(());
            actor
        });
        ready.await.ok()?;
        self.published.send_replace(Some(Arc::new(address)));
        Some(dead)
    }

    /// A panic leaves the arbiter's thread as it was; should that be gone nevertheless, takes another.
    fn renew_arbiter(&mut self) -> Result<(), ActorSystemError> {
        if !self.arbiter.alive() {
            self.arbiter = self.system.arbiter()?;
        }
        Ok(())
    }
}

/// When an actor died lately.
struct Deaths {
    policy: RestartPolicy,
    at: VecDeque<Instant>,
}

impl Deaths {
    fn new(policy: RestartPolicy) -> Self {
        Self {
            policy,
            at: VecDeque::new(),
        }
    }

    /// Counts a death now and says how long to wait before the next life: doubling with each death in the window.
    fn record(&mut self) -> Duration {
        let now = Instant::now();
        self.at.push_back(now);
        while self
            .at
            .front()
            .is_some_and(|at| now.duration_since(*at) > self.policy.window)
        {
            self.at.pop_front();
        }
        self.policy
            .backoff
            .after(u32::try_from(self.at.len()).unwrap_or(u32::MAX))
    }

    fn recent(&self) -> usize {
        self.at.len()
    }

    fn too_many(&self) -> bool {
        self.at.len() > self.policy.max_restarts
    }

    /// Resolves when the last death is a window ago; never without a death.
    async fn quiet(&mut self) {
        let Some(last) = self.at.back().copied() else {
            return std::future::pending().await;
        };
        tokio::time::sleep_until(last + self.policy.window).await;
        self.at.clear();
    }
}

#[cfg(test)]
mod tests;

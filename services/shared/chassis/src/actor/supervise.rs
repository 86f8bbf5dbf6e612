//! Replaces an actor that died.
//!
//! `actix::Supervisor` restarts an actor that stops, not one that panics: its task is gone, and the supervisor with it.
//! So every actor holds an [`Alive`]; when that is dropped, by a panic or by a stop, a watcher outside actix starts a new
//! actor and publishes its address. Each actor has a watcher; their deaths are counted together.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix::{Actor, ArbiterHandle};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::RestartPolicy;
use super::admission::Admission;
use super::pool::{Seat, Started};
use super::service_actor::ServiceActor;
use super::system::ActorSystem;
use crate::server::HealthFlag;

/// Shows that an actor is alive. Dropping it is how the watcher learns that the actor is no more.
#[derive(Debug)]
pub(super) struct Alive {
    _dropped: oneshot::Sender<std::convert::Infallible>,
}

impl Alive {
    fn new() -> (Self, oneshot::Receiver<std::convert::Infallible>) {
        let (sender, receiver) = oneshot::channel();
        (Self { _dropped: sender }, receiver)
    }
}

/// What the watchers need to know.
pub(super) struct Supervisor<S: 'static> {
    pub(super) name: &'static str,
    pub(super) system: ActorSystem,
    pub(super) deaths: Deaths,
    pub(super) health: HealthFlag,
    pub(super) admission: Arc<Admission>,
    pub(super) state: Box<dyn Fn() -> Arc<S> + Send + Sync>,
    pub(super) seats: watch::Sender<Vec<Seat<S>>>,
    pub(super) closed: CancellationToken,
}

impl<S> Supervisor<S> {
    /// Starts the actor of a seat, and again each time it dies, until every handle is gone or the system stopped.
    pub(super) async fn watch(self: Arc<Self>, seat: usize, mut arbiter: ArbiterHandle) {
        loop {
            if let Some(mut dead) = self.start_actor(seat, &arbiter).await {
                tokio::select! {
                    () = self.closed.cancelled() => return,
                    _ = &mut dead => {}
                    // A quiet window shows that the actors can live after all.
                    () = self.deaths.quiet() => {
                        if self.deaths.forgive() {
                            self.health.set_serving(true);
                        }
                        tokio::select! {
                            () = self.closed.cancelled() => return,
                            _ = &mut dead => {}
                        }
                    }
                }
            }
            self.publish(seat, None);
            // A panic leaves the arbiter's thread as it was; should that be gone nevertheless, there is another.
            if !arbiter.alive() {
                arbiter = match self.system.arbiter() {
                    Ok(arbiter) => arbiter,
                    Err(_) => return self.health.set_serving(false),
                };
            }
            self.admission.metrics.restarted();
            let death = self.deaths.record();
            if death.too_many {
                self.health.set_serving(false);
                tracing::error!(actor = self.name, deaths = death.recent, window = ?self.deaths.policy.window,
                    "the actor dies again and again: reported as not serving");
            } else {
                tracing::warn!(actor = self.name, backoff = ?death.backoff, "the actor died and is replaced");
            }
            tokio::select! {
                () = self.closed.cancelled() => return,
                () = tokio::time::sleep(death.backoff) => {}
            }
        }
    }

    /// Starts one actor and publishes its address. `None` when making its state panicked.
    async fn start_actor(
        self: &Arc<Self>,
        seat: usize,
        arbiter: &ArbiterHandle,
    ) -> Option<oneshot::Receiver<std::convert::Infallible>> {
        let (alive, dead) = Alive::new();
        let (started, ready) = oneshot::channel();
        let supervisor = Arc::clone(self);
        let address = ServiceActor::start_in_arbiter(arbiter, move |_| {
            let actor = ServiceActor::new((supervisor.state)(), alive);
            // The watcher waits for this; that it is gone can only mean that every handle is.
            let _ = started.send(std::thread::current().id());
            actor
        });
        let thread = ready.await.ok()?;
        self.publish(seat, Some(Started { address, thread }));
        Some(dead)
    }

    fn publish(&self, seat: usize, actor: Option<Started<S>>) {
        self.seats.send_modify(|seats| {
            if let Some(seat) = seats.get_mut(seat) {
                seat.actor = actor;
            }
        });
    }
}

/// When actors died lately.
pub(super) struct Deaths {
    policy: RestartPolicy,
    lately: Mutex<Lately>,
}

#[derive(Default)]
struct Lately {
    at: VecDeque<Instant>,
    /// Whether there were too many, and not a quiet window since.
    reported: bool,
}

/// What follows from a death.
#[derive(Debug)]
struct Death {
    /// How long to wait before the next life: doubling with each death in the window.
    backoff: Duration,
    /// Deaths in the window.
    recent: usize,
    too_many: bool,
}

impl Deaths {
    pub(super) fn new(policy: RestartPolicy) -> Self {
        Self {
            policy,
            lately: Mutex::default(),
        }
    }

    /// Counts a death now.
    fn record(&self) -> Death {
        let now = Instant::now();
        let mut lately = self.lately();
        lately.at.push_back(now);
        while lately
            .at
            .front()
            .is_some_and(|at| now.duration_since(*at) > self.policy.window)
        {
            lately.at.pop_front();
        }
        let recent = lately.at.len();
        let too_many = recent > self.policy.max_restarts;
        lately.reported |= too_many;
        Death {
            backoff: self.policy.backoff.after(u32::try_from(recent).unwrap_or(u32::MAX)),
            recent,
            too_many,
        }
    }

    /// Resolves when the last death of any actor is a window ago; never without a death.
    async fn quiet(&self) {
        loop {
            let last = self.lately().at.back().copied();
            let Some(last) = last else {
                return std::future::pending().await;
            };
            tokio::time::sleep_until(last + self.policy.window).await;
            if self.lately().at.back() == Some(&last) {
                return;
            }
        }
    }

    /// Forgets the deaths; says whether there had been too many.
    fn forgive(&self) -> bool {
        let mut lately = self.lately();
        lately.at.clear();
        std::mem::take(&mut lately.reported)
    }

    // A panic while the lock is held leaves nothing half-done.
    fn lately(&self) -> MutexGuard<'_, Lately> {
        self.lately.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;

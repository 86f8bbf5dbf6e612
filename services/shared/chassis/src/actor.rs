//! The bridge between tonic's tasks and actix's actors: admission in front, supervision behind.
//!
//! A mailbox is not backpressure: `Addr::send` ignores its capacity, every clone of an `Addr` has a slot of its own on top,
//! and a `SyncArbiter`'s mailbox is unbounded. Admission is therefore a semaphore in the [`ActorHandle`], taken without waiting.

mod error;
mod stream;
mod supervise;
mod system;

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::SendError;
use actix::{Actor, Addr, Context, Handler};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

pub use error::{CallError, Gone};
pub use stream::EventSender;
pub use supervise::Alive;
pub use system::{ActorSystem, ActorSystemError};

use emend_core::Backoff;

use crate::caller::Caller;
use crate::job::{Job, Permit, Return, Task};
use crate::metrics::ActorMetrics;
use crate::server::HealthFlag;
use supervise::Supervised;

/// When and how often a dead actor is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartPolicy {
    /// Waits before replacements, by the number of deaths in the window.
    pub backoff: Backoff,
    /// Replacements within `window` that are still called healthy.
    pub max_restarts: usize,
    /// How long a death is remembered.
    pub window: Duration,
}

impl Default for RestartPolicy {
    /// 100 ms doubling to 10 s; more than five in a minute is NOT_SERVING.
    fn default() -> Self {
        Self {
            backoff: Backoff::new(Duration::from_millis(100), Duration::from_secs(10)),
            max_restarts: 5,
            window: Duration::from_secs(60),
        }
    }
}

/// How an actor is run.
#[derive(Clone, Debug)]
pub struct ActorOptions {
    /// Name in logs and metrics, for example `grader`.
    pub name: &'static str,
    /// Calls admitted at once, queued and running; one more is refused. At least 1.
    pub max_in_flight: usize,
    /// What happens when the actor dies.
    pub restart: RestartPolicy,
}

impl ActorOptions {
    /// `max_in_flight` calls at once and the default restart policy.
    pub fn new(name: &'static str, max_in_flight: usize) -> Self {
        Self {
            name,
            max_in_flight,
            restart: RestartPolicy::default(),
        }
    }
}

/// The way to a supervised actor. Cheap to clone; the actor ends when the last clone is dropped.
pub struct ActorHandle<A: Actor<Context = Context<A>>>(Arc<Inner<A>>);

struct Inner<A: Actor<Context = Context<A>>> {
    name: &'static str,
    max_in_flight: usize,
    admission: Arc<Semaphore>,
    address: watch::Receiver<Option<Arc<Addr<A>>>>,
    metrics: ActorMetrics,
    _closed: DropGuard,
}

impl<A: Actor<Context = Context<A>>> Clone for ActorHandle<A> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<A: Actor<Context = Context<A>>> std::fmt::Debug for ActorHandle<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ActorHandle")
            .field("actor", &self.0.name)
            .field("in_flight", &self.in_flight())
            .finish()
    }
}

/// What a refused caller is told to wait. The actor works on what it has; a fixed hint is honest, a computed one would
/// only look so.
const RETRY_AFTER: Duration = Duration::from_millis(200);

impl<A: Actor<Context = Context<A>>> ActorHandle<A> {
    /// Starts an actor on an arbiter of its own and watches over it. `factory` makes it, now and after each death; it runs
    /// on the arbiter's thread, and what it makes need not be `Send`. `health` turns to not serving when the actor dies
    /// more often than the policy allows.
    ///
    /// Call it inside a tokio runtime. The watcher ends with the last clone of the front.
    ///
    /// # Errors
    /// [`ActorSystemError`] when the system is stopped or no thread is to be had.
    pub fn start(
        system: &ActorSystem,
        options: ActorOptions,
        health: HealthFlag,
        factory: impl Fn(Alive) -> A + Send + Sync + 'static,
    ) -> Result<Self, ActorSystemError> {
        let metrics = ActorMetrics::new(options.name);
        let (published, address) = watch::channel(None);
        let closed = CancellationToken::new();
        let max_in_flight = options.max_in_flight.max(1);
        let supervised = Supervised {
            name: options.name,
            system: system.clone(),
            arbiter: system.arbiter()?,
            // The permits are the bound; the mailbox must never be the one that says no.
            mailbox: max_in_flight + 1,
            policy: options.restart,
            health,
            metrics: metrics.clone(),
            factory: Arc::new(factory),
            published,
            closed: closed.clone(),
        };
        tokio::spawn(supervised.watch());
        Ok(Self(Arc::new(Inner {
            name: options.name,
            max_in_flight,
            admission: Arc::new(Semaphore::new(max_in_flight.min(Semaphore::MAX_PERMITS))),
            address,
            metrics,
            _closed: closed.drop_guard(),
        })))
    }

    /// Hands a task to the actor and waits for its answer.
    ///
    /// Admission does not wait: with `max_in_flight` calls admitted, this one is refused at once. A caller that comes
    /// while the actor is being replaced waits for the new one. Dropping the future cancels the work.
    ///
    /// # Errors
    /// [`CallError`]: see its variants.
    pub async fn call<T: Task>(&self, task: T, caller: Caller) -> Result<T::Reply, CallError<T::Error>>
    where
        A: Handler<Job<T>>,
    {
        let permit = self.admit()?;
        tokio::select! {
            biased;
            outcome = self.exchange(task, &caller, permit) => outcome,
            () = caller.cancel.cancelled() => Err(CallError::Cancelled),
            // The actor watches the deadline too, unless it hangs.
            () = tokio::time::sleep_until(caller.deadline.instant()) => Err(CallError::Deadline),
        }
    }

    async fn exchange<T: Task>(
        &self,
        mut task: T,
        caller: &Caller,
        mut permit: Permit,
    ) -> Result<T::Reply, CallError<T::Error>>
    where
        A: Handler<Job<T>>,
    {
        loop {
            let address = self.address().await.ok_or(CallError::Gone)?;
            let (job, answer) = Job::new(task, caller.scope(), caller.span.clone(), permit, &self.0.metrics);
            let sent = address.try_send(job);
            // An address keeps a dead actor's mailbox, and the job in it, from being dropped.
            drop(address);
            if let Err(SendError::Full(_)) = sent {
                self.0.metrics.rejected();
                return Err(CallError::Full {
                    retry_after: RETRY_AFTER,
                });
            }
            drop(sent);
            match answer.await {
                Ok(Return::Done(outcome)) => return outcome,
                Err(_) => return Err(CallError::Gone),
                Ok(Return::Unbegun(returned, place)) => (task, permit) = (returned, place),
            }
            // The dead actor's address may be the published one for a moment yet.
            tokio::task::yield_now().await;
        }
    }

    /// Calls admitted and not done.
    pub fn in_flight(&self) -> usize {
        self.0
            .max_in_flight
            .saturating_sub(self.0.admission.available_permits())
    }

    /// A place for one more call, or at once that there is none (R13).
    fn admit<E>(&self) -> Result<Permit, CallError<E>> {
        match Arc::clone(&self.0.admission).try_acquire_owned() {
            Ok(permit) => Ok(Permit {
                _semaphore: permit,
                _counted: self.0.metrics.in_flight(),
            }),
            Err(_) => {
                self.0.metrics.rejected();
                Err(CallError::Full {
                    retry_after: RETRY_AFTER,
                })
            }
        }
    }

    /// The address of the actor that is alive, or of the next one. `None` when there will be no next one. Shared, not
    /// cloned: each clone of an `Addr` would have a slot in the mailbox beyond its capacity.
    async fn address(&self) -> Option<Arc<Addr<A>>> {
        let mut published = self.0.address.clone();
        let address = published
            .wait_for(|address| address.as_ref().is_some_and(|address| address.connected()))
            .await
            .ok()?;
        address.clone()
    }
}

#[cfg(test)]
mod tests;

//! The way to a service's actors.

use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::{Request, Response, Status};

use super::admission::{Admission, Permit};
use super::job::{Bounds, Return};
use super::pool::{Pool, Unsent};
use super::supervise::{Deaths, Supervisor};
use super::{ActorOptions, ActorSystem, ActorSystemError, CallError, Work};
use crate::caller::Caller;
use crate::server::HealthFlag;
use crate::validate::InvalidRequest;

/// The way to the supervised actors that do every [`Work`] on a state `S`. Cheap to clone; the actors end when the last
/// clone is dropped.
pub struct ActorHandle<S: 'static>(Arc<Inner<S>>);

struct Inner<S: 'static> {
    name: &'static str,
    default_timeout: Duration,
    admission: Arc<Admission>,
    pool: Pool<S>,
    threads: Vec<ArbiterHandle>,
    _closed: DropGuard,
}

impl<S> Clone for ActorHandle<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S> std::fmt::Debug for ActorHandle<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ActorHandle")
            .field("actor", &self.0.name)
            .field("in_flight", &self.in_flight())
            .finish()
    }
}

impl<S> ActorHandle<S> {
    /// Starts `options.threads` actors, each on an arbiter of its own, and watches over them. `state` makes the state of
    /// each, now and after each death; it runs on the actor's thread. A state that all share is cloned by it. `health`
    /// turns to not serving when the actors die more often than the policy allows.
    ///
    /// Call it inside a tokio runtime. The watchers end with the last clone of the handle.
    ///
    /// # Errors
    /// [`ActorSystemError`] when the system is stopped or no thread is to be had.
    pub fn start(
        system: &ActorSystem,
        options: ActorOptions,
        health: HealthFlag,
        state: impl Fn() -> Arc<S> + Send + Sync + 'static,
    ) -> Result<Self, ActorSystemError> {
        let admission = Arc::new(Admission::new(options.name, options.max_in_flight));
        let threads = options.threads.clamp(1, options.max_in_flight.max(1));
        let arbiters: Vec<_> = (0..threads).map(|_| system.arbiter()).collect::<Result<_, _>>()?;
        let (pool, seats) = Pool::new(threads);
        let closed = CancellationToken::new();
        let supervisor = Arc::new(Supervisor {
            name: options.name,
            system: system.clone(),
            deaths: Deaths::new(options.restart),
            health,
            admission: Arc::clone(&admission),
            state: Box::new(state),
            seats,
            closed: closed.clone(),
        });
        for (seat, arbiter) in arbiters.iter().cloned().enumerate() {
            tokio::spawn(Arc::clone(&supervisor).watch(seat, arbiter));
        }
        Ok(Self(Arc::new(Inner {
            name: options.name,
            default_timeout: options.default_timeout,
            admission,
            pool,
            threads: arbiters,
            _closed: closed.drop_guard(),
        })))
    }

    /// The threads that the actors were started on.
    pub(crate) fn threads(&self) -> Vec<ArbiterHandle> {
        self.0.threads.clone()
    }

    /// Who makes this request: [`Caller::of`] with the default timeout of the options.
    pub fn caller<T>(&self, request: &Request<T>) -> Caller {
        Caller::of(request, self.0.default_timeout)
    }

    /// Answers a unary request: `work` validates what was asked and makes the work of it, which an actor does.
    ///
    /// # Errors
    /// The status of what `work` found wrong, or of the [`CallError`].
    pub async fn unary<T, W: Work<S>>(
        &self,
        request: Request<T>,
        work: impl FnOnce(T) -> Result<W, InvalidRequest>,
    ) -> Result<Response<W::Reply>, Status> {
        let caller = self.caller(&request);
        let work = work(request.into_inner())?;
        Ok(Response::new(self.call(work, caller).await?))
    }

    /// Hands work to an actor, and waits for its answer: to the one on the calling thread where there is one, to the one
    /// that has the least to do otherwise and where that has much less.
    ///
    /// Admission does not wait: with `max_in_flight` calls admitted, this one is refused at once. A caller that comes
    /// while all actors are being replaced waits for the next. Dropping the future cancels the work.
    ///
    /// # Errors
    /// [`CallError`]: see its variants.
    pub async fn call<W: Work<S>>(&self, work: W, caller: Caller) -> Result<W::Reply, CallError<W::Error>> {
        self.call_bounded(work, caller, false).await
    }

    /// A call whose job looks at the deadline itself where `watches_deadline` says so.
    pub(super) async fn call_bounded<W: Work<S>>(
        &self,
        work: W,
        caller: Caller,
        watches_deadline: bool,
    ) -> Result<W::Reply, CallError<W::Error>> {
        let permit = self.0.admission.admit()?;
        let bounds = Bounds {
            scope: caller.scope(),
            span: caller.span.clone(),
            watches_deadline,
        };
        tokio::select! {
            biased;
            outcome = self.exchange(work, bounds, permit) => outcome,
            () = caller.cancel.cancelled() => Err(CallError::Cancelled),
            // Here and not in the job, so that the caller is answered even when the actor's thread hangs. What ends here
            // drops the caller, and that stops the job.
            () = async { tokio::time::sleep_until(caller.deadline.instant()).await } => Err(CallError::Deadline),
        }
    }

    async fn exchange<W: Work<S>>(
        &self,
        mut work: W,
        bounds: Bounds,
        mut permit: Permit,
    ) -> Result<W::Reply, CallError<W::Error>> {
        loop {
            let answer = match self.0.pool.send(work, bounds.clone(), permit) {
                Ok(answer) => answer,
                Err(Unsent(returned, place)) => {
                    (work, permit) = (returned, place);
                    if !self.0.pool.wait().await {
                        return Err(CallError::Gone);
                    }
                    continue;
                }
            };
            match answer.await {
                Ok(Return::Done(outcome)) => return outcome,
                Err(_) => return Err(CallError::Gone),
                Ok(Return::Unbegun(returned, place)) => (work, permit) = (returned, place),
            }
            // The dead actor's address may be the published one for a moment yet.
            tokio::task::yield_now().await;
        }
    }

    #[cfg(test)]
    pub(super) fn alive(&self) -> usize {
        self.0.pool.alive()
    }

    /// Calls admitted and not done.
    pub fn in_flight(&self) -> usize {
        self.0.admission.in_flight()
    }
}

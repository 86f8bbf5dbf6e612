//! The one actor that every service runs on.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use actix::fut::ActorFuture;
use actix::{Actor, AsyncContext, Handler};
use futures::StreamExt;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;

use super::Work;
use super::job::Job;
use super::supervise::Alive;

/// Does every [`Work`] on a state `S`, as many at once as are sent to it.
///
/// actix polls all futures of a context whenever one of them wakes. So the jobs are one future of the context, which polls
/// only those that woke.
pub(super) struct ServiceActor<S> {
    state: Arc<S>,
    jobs: FuturesUnordered<LocalBoxFuture<'static, ()>>,
    _alive: Alive,
}

impl<S> ServiceActor<S> {
    pub(super) fn new(state: Arc<S>, alive: Alive) -> Self {
        Self {
            state,
            jobs: FuturesUnordered::new(),
            _alive: alive,
        }
    }
}

impl<S: 'static> Actor for ServiceActor<S> {
    type Context = actix::Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.spawn(Jobs);
    }
}

/// Polls an actor's jobs.
struct Jobs;

impl<S: 'static> ActorFuture<ServiceActor<S>> for Jobs {
    type Output = ();

    fn poll(
        self: Pin<&mut Self>,
        actor: &mut ServiceActor<S>,
        context: &mut actix::Context<ServiceActor<S>>,
        task: &mut Context<'_>,
    ) -> Poll<()> {
        while let Poll::Ready(Some(())) = actor.jobs.poll_next_unpin(task) {}
        // A context with a future in it does not end; without an address nothing more can come.
        if actor.jobs.is_empty() && !context.connected() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl<S: 'static, W: Work<S>> Handler<Job<S, W>> for ServiceActor<S> {
    type Result = ();

    fn handle(&mut self, job: Job<S, W>, _: &mut Self::Context) {
        let state = Arc::clone(&self.state);
        self.jobs.push(Box::pin(async move { job.run(&state).await }));
    }
}

//! A task on its way through a mailbox, with all that must travel with it.
//!
//! The admission permit travels in the job: it is given back when the job is done, skipped, or lost with a dead actor,
//! and not when the caller's future ends. So the semaphore counts what the actor really has to do.

use std::future::Future;

use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tracing::{Instrument, Span};

use crate::actor::CallError;
use crate::metrics::{ActorMetrics, Counted};
use emend_core::Scope;
use emend_core::ServiceError;

/// A piece of work for an actor: what is asked, what comes back, how it can fail.
pub trait Task: Send + 'static {
    /// What the caller gets.
    type Reply: Send + 'static;
    /// How the work itself can fail.
    type Error: ServiceError;
    /// Name in logs and metrics, for example `grade_documents`.
    const NAME: &'static str;
}

/// A [`Task`] with its caller's bounds, its span, its admission permit and the way back.
///
/// As an actix message its result is `()`: the answer goes by a channel of its own, because an actor answers after its
/// handler has returned. A job that dies in a mailbox, unbegun, returns its task to the front, which hands it to the next
/// actor.
pub struct Job<T: Task>(Option<Parts<T>>);

struct Parts<T: Task> {
    task: T,
    scope: Scope,
    span: Span,
    answer: Answer<T>,
    _queued: Counted,
}

impl<T: Task> actix::Message for Job<T> {
    type Result = ();
}

// Without the task: it holds questions and passages, which do not belong in a log.
impl<T: Task> std::fmt::Debug for Job<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("task", &T::NAME).finish_non_exhaustive()
    }
}

impl<T: Task> std::fmt::Debug for Answer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer")
            .field("task", &T::NAME)
            .field("gone", &self.is_gone())
            .finish_non_exhaustive()
    }
}

impl<T: Task> Drop for Job<T> {
    fn drop(&mut self) {
        if let Some(Parts { task, answer, .. }) = self.0.take() {
            let Answer { sender, permit, .. } = answer;
            // Nobody may be waiting any more, and then the task has no further use.
            drop(sender.send(Return::Unbegun(task, permit)));
        }
    }
}

impl<T: Task> Job<T> {
    pub(crate) fn new(
        task: T,
        scope: Scope,
        span: Span,
        permit: Permit,
        metrics: &ActorMetrics,
    ) -> (Self, oneshot::Receiver<Return<T>>) {
        let (sender, receiver) = oneshot::channel();
        let answer = Answer {
            sender,
            permit,
            metrics: metrics.clone(),
        };
        (
            Self(Some(Parts {
                task,
                scope,
                span,
                answer,
                _queued: metrics.queued(),
            })),
            receiver,
        )
    }

    /// Runs the work inside the call's span and answers with what it returns.
    ///
    /// A job whose caller is gone or whose deadline is past when its turn comes is skipped: `work` is not called. The
    /// work is dropped at its next await point when either happens while it runs; for what it started on blocking
    /// threads it has the [`Scope`] to look at.
    pub fn run<F, Fut>(self, work: F) -> impl Future<Output = ()> + use<T, F, Fut>
    where
        F: FnOnce(T, Scope) -> Fut,
        Fut: Future<Output = Result<T::Reply, T::Error>>,
    {
        let (task, scope, span, answer) = self.into_parts();
        async move {
            if answer.is_gone() || scope.is_stopped() {
                answer.skip(&scope);
                return;
            }
            let stopped = scope.stopped();
            let work = span.in_scope(|| work(task, scope.clone())).instrument(span);
            tokio::select! {
                biased;
                result = work => answer.send(result),
                () = stopped => answer.stop(&scope),
            }
        }
    }

    /// Takes the job apart, for an actor that batches: run the task when its turn comes, unless
    /// [`Answer::is_gone`] or [`Scope::is_stopped`], and send the result.
    pub fn into_parts(mut self) -> (T, Scope, Span, Answer<T>) {
        match self.0.take() {
            Some(Parts {
                task,
                scope,
                span,
                answer,
                ..
            }) => (task, scope, span, answer),
            None => unreachable!("only this takes a job apart, and it consumes the job"),
        }
    }
}

/// What comes back to the front.
pub(crate) enum Return<T: Task> {
    /// The work began, and this is how it ended.
    Done(Result<T::Reply, CallError<T::Error>>),
    /// The actor died before the work began.
    Unbegun(T, Permit),
}

/// A place among the calls in flight.
#[derive(Debug)]
pub(crate) struct Permit {
    pub(crate) _semaphore: OwnedSemaphorePermit,
    pub(crate) _counted: Counted,
}

/// The way back to the caller. Holds the admission permit until it is used or dropped; dropped unused, the caller gets
/// [`CallError::Gone`].
pub struct Answer<T: Task> {
    sender: oneshot::Sender<Return<T>>,
    permit: Permit,
    metrics: ActorMetrics,
}

impl<T: Task> Answer<T> {
    /// Answers. A caller that is gone by now is no error.
    pub fn send(self, result: Result<T::Reply, T::Error>) {
        self.finish(result.map_err(CallError::Task));
    }

    /// Whether nobody waits for the answer any more.
    pub fn is_gone(&self) -> bool {
        self.sender.is_closed()
    }

    /// Counts the job as skipped and tells a caller that still waits why.
    pub fn skip(self, scope: &Scope) {
        self.metrics.skipped();
        self.stop(scope);
    }

    fn stop(self, scope: &Scope) {
        let error = if scope.deadline.is_expired() {
            CallError::Deadline
        } else {
            CallError::Cancelled
        };
        self.finish(Err(error));
    }

    fn finish(self, outcome: Result<T::Reply, CallError<T::Error>>) {
        // The permit goes first: a caller that has its answer can be admitted again.
        let Self {
            sender,
            permit,
            metrics: _,
        } = self;
        drop(permit);
        // The caller may have gone meanwhile; then nobody is left to tell.
        drop(sender.send(Return::Done(outcome)));
    }
}

//! Work on its way through a mailbox, with all that must travel with it.
//!
//! The admission permit travels in the job: it is given back when the job is done, skipped, or lost with a dead actor,
//! and not when the caller's future ends. So admission counts what the actors really have to do.

use tokio::sync::oneshot;
use tracing::{Instrument, Span};

use emend_core::{Scope, as_caller};

use super::admission::Permit;
use super::pool::Load;
use super::{CallError, Work};

/// [`Work`] with its caller's bounds, its span, its admission permit and the way back.
///
/// As an actix message its result is `()`: the answer goes by a channel of its own, because the actor answers after its
/// handler has returned. A job that is dropped unbegun returns its work to the handle, which sends it to another actor.
pub(super) struct Job<S, W: Work<S>>(Option<Parts<S, W>>);

struct Parts<S, W: Work<S>> {
    work: W,
    bounds: Bounds,
    permit: Permit,
    load: Load,
    sender: oneshot::Sender<Return<S, W>>,
}

/// What bounds a job.
#[derive(Clone)]
pub(super) struct Bounds {
    pub(super) scope: Scope,
    /// The span of the call.
    pub(super) span: Span,
    /// Whether the job has to look at the deadline itself, because its caller may not be polled when it passes. Otherwise
    /// the caller does, and cancels.
    pub(super) watches_deadline: bool,
}

/// What comes back to the handle.
pub(super) enum Return<S, W: Work<S>> {
    /// The work began, or its time was over, and this is how it ended.
    Done(Result<W::Reply, CallError<W::Error>>),
    /// The actor died before the work began.
    Unbegun(W, Permit),
}

impl<S: 'static, W: Work<S>> actix::Message for Job<S, W> {
    type Result = ();
}

// Without the work: it holds questions and passages, which do not belong in a log.
impl<S, W: Work<S>> std::fmt::Debug for Job<S, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("work", &W::NAME).finish_non_exhaustive()
    }
}

impl<S, W: Work<S>> Drop for Job<S, W> {
    fn drop(&mut self) {
        if let Some(Parts {
            work,
            permit,
            load,
            sender,
            ..
        }) = self.take()
        {
            drop(load);
            // Nobody may be waiting any more, and then the work has no further use.
            drop(sender.send(Return::Unbegun(work, permit)));
        }
    }
}

impl<S, W: Work<S>> Job<S, W> {
    pub(super) fn new(work: W, bounds: Bounds, permit: Permit, load: Load) -> (Self, oneshot::Receiver<Return<S, W>>) {
        let (sender, receiver) = oneshot::channel();
        permit.metrics().queued();
        let parts = Parts {
            work,
            bounds,
            permit,
            load,
            sender,
        };
        (Self(Some(parts)), receiver)
    }

    fn take(&mut self) -> Option<Parts<S, W>> {
        let parts = self.0.take();
        if let Some(parts) = &parts {
            parts.permit.metrics().unqueued();
        }
        parts
    }

    /// Runs the work inside the call's span and answers with what it returns.
    ///
    /// A job whose caller is gone or whose deadline is past when its turn comes is skipped. The work is dropped at its
    /// next await point when either happens while it runs. Until it is polled the job is unbegun.
    pub(super) async fn run(mut self, state: &S) {
        let Some(Parts {
            work,
            bounds,
            permit,
            load,
            sender,
        }) = self.take()
        else {
            return;
        };
        let Bounds {
            scope,
            span,
            watches_deadline,
        } = bounds;
        let outcome = if sender.is_closed() || scope.is_stopped() {
            permit.metrics().skipped();
            Err(stopped(&scope))
        } else {
            let work = as_caller(work.run(state, &scope)).instrument(span);
            // Polled only after the work was, and so made only for work that does not end at once.
            let deadline = async {
                if watches_deadline {
                    tokio::time::sleep_until(scope.deadline.instant()).await;
                } else {
                    std::future::pending().await
                }
            };
            tokio::select! {
                biased;
                result = work => result.map_err(CallError::Work),
                () = scope.cancel.cancelled() => Err(stopped(&scope)),
                () = deadline => Err(CallError::Deadline),
            }
        };
        // These go first: a caller that has its answer can be admitted again.
        drop((load, permit));
        // The caller may have gone meanwhile; then nobody is left to tell.
        drop(sender.send(Return::Done(outcome)));
    }
}

fn stopped<E>(scope: &Scope) -> CallError<E> {
    if scope.deadline.is_expired() {
        CallError::Deadline
    } else {
        CallError::Cancelled
    }
}

//! Who asks: the deadline, the cancellation and the span of one call, made once in the gRPC adapter.

use std::future::Future;
use std::time::Duration;

use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Span;

use crate::deadline::Deadline;

/// One caller, as the gRPC adapter sees it.
///
/// It is neither `Clone` nor shared: tonic drops the adapter's future when the caller disconnects, the `Caller` in it is
/// dropped with it, and that cancels `cancel` for all work done on the caller's behalf.
#[derive(Debug)]
pub struct Caller {
    /// When the answer is due.
    pub deadline: Deadline,
    /// Cancelled when the caller is gone.
    pub cancel: CancellationToken,
    /// The span of the call; work done elsewhere runs inside it.
    pub span: Span,
    _gone: DropGuard,
}

impl Caller {
    /// Reads the deadline of a request and takes the current span, which inside a handler is the call's.
    /// `default_timeout` holds where the request has no `grpc-timeout`.
    pub fn of<T>(request: &tonic::Request<T>, default_timeout: Duration) -> Self {
        Self::new(
            Deadline::from_metadata(request.metadata(), default_timeout),
            CancellationToken::new(),
            Span::current(),
        )
    }

    /// A caller from inside the process: a walk that calls an actor, a command line.
    pub fn new(deadline: Deadline, cancel: CancellationToken, span: Span) -> Self {
        Self {
            deadline,
            span,
            _gone: cancel.clone().drop_guard(),
            cancel,
        }
    }

    /// A part of the work inside `scope`: stops when the scope does, and cancelling it does not cancel the scope.
    pub fn within(scope: &Scope) -> Self {
        Self::new(scope.deadline, scope.cancel.child_token(), Span::current())
    }

    /// What a backend may see of this caller.
    pub fn scope(&self) -> Scope {
        Scope {
            deadline: self.deadline,
            cancel: self.cancel.clone(),
        }
    }
}

/// The bounds of a piece of work: until when, and whether still.
#[derive(Clone, Debug)]
pub struct Scope {
    /// When the answer is due.
    pub deadline: Deadline,
    /// Cancelled when nobody waits for the answer any more.
    pub cancel: CancellationToken,
}

impl Scope {
    /// Bounds that nothing in a test should reach: an hour, never cancelled.
    pub fn for_tests() -> Self {
        Self {
            deadline: Deadline::after(Duration::from_secs(3600)),
            cancel: CancellationToken::new(),
        }
    }

    /// Resolves when the work should stop: the caller is gone or its deadline past.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + 'static {
        let Self { deadline, cancel } = self.clone();
        async move {
            tokio::select! {
                () = cancel.cancelled() => {}
                () = tokio::time::sleep_until(deadline.instant()) => {}
            }
        }
    }

    /// Whether the work should stop; for loops on blocking threads.
    pub fn is_stopped(&self) -> bool {
        self.cancel.is_cancelled() || self.deadline.is_expired()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn dropping_the_caller_stops_its_scope() {
        let caller = Caller::of(&tonic::Request::new(()), Duration::from_secs(5));
        let scope = caller.scope();
        let stopped = scope.stopped();
        assert!(!scope.is_stopped());
        drop(caller);
        assert!(scope.is_stopped());
        stopped.await;
        assert!(!scope.deadline.is_expired());
    }

    #[tokio::test(start_paused = true)]
    async fn a_scope_stops_at_its_deadline() {
        let caller = Caller::of(&tonic::Request::new(()), Duration::from_secs(5));
        let scope = caller.scope();
        scope.stopped().await;
        assert!(scope.deadline.is_expired());
        assert!(!scope.cancel.is_cancelled());
    }

    #[tokio::test]
    async fn a_part_stops_with_the_whole_but_not_the_other_way_round() {
        let scope = Scope::for_tests();
        let part = Caller::within(&scope);
        part.cancel.cancel();
        assert!(!scope.is_stopped());
        let part = Caller::within(&scope);
        scope.cancel.cancel();
        assert!(part.scope().is_stopped());
    }
}

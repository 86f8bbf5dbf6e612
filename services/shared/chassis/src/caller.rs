//! Who asks: the deadline, the cancellation and the span of one call, made once in the gRPC adapter.

use std::time::Duration;

use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Span;

use emend_core::{Deadline, Scope};

use crate::timeout::timeout_of;

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
            Deadline::of_caller(timeout_of(request.metadata()), default_timeout),
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

#[cfg(test)]
mod tests;

//! The bounds of a piece of work: its deadline, and whether anybody still waits for its result.

use std::future::Future;

use tokio_util::sync::CancellationToken;

use crate::deadline::Deadline;

/// The bounds of a piece of work: its deadline, and whether anybody still waits for its result.
#[derive(Clone, Debug)]
pub struct Scope {
    /// When the answer is due.
    pub deadline: Deadline,
    /// Cancelled when nobody waits for the answer any more.
    pub cancel: CancellationToken,
}

impl Scope {
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
mod tests;

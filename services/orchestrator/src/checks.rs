//! Checks of callers' graphs: on blocking threads, few at once, each within its caller's deadline.

use std::{num::NonZero, sync::Arc, thread, time::Duration};

use emend_core::Scope;
use tokio::{sync::Semaphore, task::spawn_blocking};
use tracing::Span;

use crate::{error::CheckError, graph::Effort};

/// Checks at work or waiting for their turn; one more is refused. One that waits holds its graph file and little else.
const MAX_ADMITTED: usize = 64;
/// Most checks at work. Each takes a core and up to 100 MiB; the walks need cores too.
const MAX_RUNNING: usize = 4;
/// What a refused caller is told to wait.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// Admission of checks; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct GraphChecks {
    admitted: Arc<Semaphore>,
    running: Arc<Semaphore>,
}

impl Default for GraphChecks {
    /// At most a check for every other core at once.
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        GraphChecks {
            admitted: Arc::new(Semaphore::new(MAX_ADMITTED)),
            running: Arc::new(Semaphore::new((cores / 2).clamp(1, MAX_RUNNING))),
        }
    }
}

impl GraphChecks {
    /// Runs a check when its turn comes. Dropping the future does not stop a check at work; the end of the scope does.
    ///
    /// # Errors
    /// [`CheckError`].
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        scope: &Scope,
        check: impl FnOnce(&mut Effort) -> T + Send + 'static,
    ) -> Result<T, CheckError> {
        let place = Arc::clone(&self.admitted)
            .try_acquire_owned()
            .map_err(|_| CheckError::Full {
                retry_after: RETRY_AFTER,
            })?;
        let mut effort = Effort::within(scope.clone());
        let span = Span::current();
        let checked = async {
            let turn = Arc::clone(&self.running).acquire_owned().await;
            // Held until the thread is done, whoever still waits for it.
            let held = (place, turn);
            spawn_blocking(move || {
                let checked = span.in_scope(|| check(&mut effort));
                drop(held);
                checked
            })
            .await
            .map_err(|_| CheckError::Panicked)
        };
        scope.deadline.run(checked).await?
    }
}

#[cfg(test)]
mod tests;

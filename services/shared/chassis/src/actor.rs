//! The bridge between tonic's tasks and actix's actors: admission in front, supervision behind.
//!
//! A mailbox is not backpressure: `Addr::send` ignores its capacity, every clone of an `Addr` has a slot of its own on top,
//! and a `SyncArbiter`'s mailbox is unbounded. Admission is therefore a semaphore in the [`ActorHandle`], taken without waiting.

mod admission;
mod error;
mod handle;
mod job;
mod pool;
mod service_actor;
mod stream;
mod supervise;
mod system;
mod work;

use std::num::NonZero;
use std::time::Duration;

pub use error::{CallError, Gone};
pub use handle::ActorHandle;
pub use stream::EventSender;
pub use system::{ActorSystem, ActorSystemError};
pub use work::Work;

use emend_core::Backoff;

use crate::config::ServiceOptions;

/// Most threads that a service's work is spread over. It waits for others most of the time, and computes elsewhere.
const MAX_THREADS: usize = 4;

/// When and how often a dead actor is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartPolicy {
    /// Waits before replacements, by the number of deaths in the window.
    pub backoff: Backoff,
    /// Replacements within `window`, of all actors of a handle together, that are still called healthy.
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

/// How actors are run.
#[derive(Clone, Debug)]
pub struct ActorOptions {
    /// Name in logs and metrics, for example `grader`.
    pub name: &'static str,
    /// Calls admitted at once, queued and running; one more is refused. At least 1.
    pub max_in_flight: usize,
    /// Actors, each on a thread of its own; 1 to `max_in_flight`.
    pub threads: usize,
    /// Bounds a request that has no `grpc-timeout`.
    pub default_timeout: Duration,
    /// What happens when an actor dies.
    pub restart: RestartPolicy,
}

impl ActorOptions {
    /// What `options` say, an actor a core up to four, and the default restart policy.
    pub fn new(name: &'static str, options: &ServiceOptions) -> Self {
        Self {
            name,
            max_in_flight: options.max_in_flight,
            threads: std::thread::available_parallelism()
                .map_or(1, NonZero::get)
                .min(MAX_THREADS),
            default_timeout: options.default_timeout,
            restart: RestartPolicy::default(),
        }
    }
}

#[cfg(test)]
mod tests;

//! The memory that requests may have together, and what each of them holds of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use emend_core::{FieldViolation, Reason, ServiceError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;

use super::scan::{MAX_MESSAGE_MEMORY, TooManyElements};
use crate::status::status;

/// Streams of requests that are taken at once. Each may keep what it has read and not done, for hours.
pub(in crate::server) const MAX_CLIENT_STREAMS: usize = 8;
/// What a call holds from its beginning, in bytes: its stream in HTTP/2, headers, and tonic's buffers.
pub(super) const CALL_BYTES: usize = 16 * 1024;
/// What a refused caller is told to wait; see the admission of actors.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// Why a request is not taken.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    /// With `RetryInfo`.
    #[error("requests hold all of the {mib} MiB that are set aside for them: try again in {} ms, add a replica, or raise --request-memory-mib", RETRY_AFTER.as_millis())]
    Full { mib: usize },
    /// With `RetryInfo`.
    #[error("{MAX_CLIENT_STREAMS} streams of requests are taken at once, and there are as many: try again in {} ms or add a replica", RETRY_AFTER.as_millis())]
    Streams,
    /// For ever.
    #[error(
        "the request needs more than the {mib} MiB that are set aside for all requests: send less, or raise --request-memory-mib"
    )]
    LargerThanAll { mib: usize },
    #[error("{field}: {}", too_many())]
    TooMany { field: String },
    #[error("the request was not received whole within {}: send it faster, or raise --default-timeout", humantime::format_duration(*within))]
    Late { within: Duration },
}

/// What is said of a field with too many elements.
fn too_many() -> String {
    let mib = MAX_MESSAGE_MEMORY >> 20;
    format!("has so many elements that the request needs more than {mib} MiB beside its texts: send fewer")
}

impl From<TooManyElements> for Refused {
    fn from(error: TooManyElements) -> Self {
        Self::TooMany { field: error.field }
    }
}

impl ServiceError for Refused {
    fn reason(&self) -> Reason {
        match self {
            Self::Full { .. } | Self::Streams => Reason::Overloaded,
            Self::LargerThanAll { .. } | Self::TooMany { .. } => Reason::RequestTooLarge,
            Self::Late { .. } => Reason::RequestTooSlow,
        }
    }

    fn violations(&self) -> Vec<FieldViolation> {
        match self {
            Self::TooMany { field } => vec![FieldViolation {
                field: field.clone(),
                description: too_many(),
            }],
            _ => Vec::new(),
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        matches!(self, Self::Full { .. } | Self::Streams).then_some(RETRY_AFTER)
    }
}

impl From<Refused> for Status {
    fn from(error: Refused) -> Self {
        status(&error)
    }
}

/// The memory that requests may have together.
///
/// The messages of streams have as much again, apart from it: a large ingest must not take the place of queries.
#[derive(Debug)]
pub(super) struct Budget {
    mib: usize,
    requests: Semaphore,
    pub(super) messages: Arc<Semaphore>,
    /// Large requests that are built at once.
    pub(super) builds: Arc<Semaphore>,
    streams: Arc<Semaphore>,
}

impl Budget {
    pub(super) fn new(mib: usize) -> Arc<Self> {
        // A semaphore is asked for at most as much at once as a `u32` counts.
        let mib = mib.clamp(1, 4095);
        Arc::new(Self {
            mib,
            requests: Semaphore::new(mib << 20),
            messages: Arc::new(Semaphore::new(mib << 20)),
            builds: Arc::new(Semaphore::new(1)),
            streams: Arc::new(Semaphore::new(MAX_CLIENT_STREAMS)),
        })
    }

    /// Begins a call.
    pub(super) fn begin(self: &Arc<Self>, client_streaming: bool) -> Result<Held, Refused> {
        let stream = match client_streaming {
            true => Some(
                Arc::clone(&self.streams)
                    .try_acquire_owned()
                    .map_err(|_| Refused::Streams)?,
            ),
            false => None,
        };
        let held = Held {
            budget: Arc::clone(self),
            bytes: AtomicUsize::new(0),
            abandoned: AtomicBool::new(false),
            _stream: stream,
        };
        held.take(CALL_BYTES)?;
        Ok(held)
    }

    /// The bytes of a message as a semaphore counts them, where it can ever have them.
    pub(super) fn message(&self, bytes: usize) -> Result<u32, Refused> {
        u32::try_from(bytes)
            .ok()
            .filter(|_| bytes <= self.mib << 20)
            .ok_or(Refused::LargerThanAll { mib: self.mib })
    }

    #[cfg(test)]
    pub(super) fn free(&self) -> usize {
        self.requests.available_permits()
    }
}

/// What a call holds of the budget, until it ends.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) budget: Arc<Budget>,
    bytes: AtomicUsize,
    /// Whether the caller left before its request was whole.
    pub(super) abandoned: AtomicBool,
    _stream: Option<OwnedSemaphorePermit>,
}

impl Held {
    /// Takes more, without waiting.
    pub(super) fn take(&self, bytes: usize) -> Result<(), Refused> {
        let budget = &self.budget;
        let all = self.bytes.load(Ordering::Relaxed).saturating_add(bytes);
        budget.message(all)?;
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        let taken = budget.requests.try_acquire_many(permits);
        taken.map_err(|_| Refused::Full { mib: budget.mib })?.forget();
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.requests.add_permits(self.bytes.load(Ordering::Relaxed));
    }
}

//! Room for documents that are worked on, and for replies that are put together.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::RetrieverError;

/// Most bytes of documents that are read, split, embedded and stored at once, over all streams: one of the largest, and
/// small ones beside it. While it is worked on, a document takes some ten times its size.
const MAX_BYTES: usize = 48 << 20;
/// Most bytes of passages that are read for replies at once, each taken for as large as a passage may be.
const MAX_REPLY_BYTES: usize = 96 << 20;
/// What a place is counted in, in bytes.
const UNIT: usize = 1 << 10;

/// Room for a number of bytes. Who needs more than there is waits for its turn.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    free: Arc<Semaphore>,
    units: usize,
}

/// A place in it; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Place {
    _permit: OwnedSemaphorePermit,
}

impl Room {
    /// For documents.
    pub(crate) fn of_documents() -> Self {
        Self::of(MAX_BYTES)
    }

    /// For replies.
    pub(crate) fn of_replies() -> Self {
        Self::of(MAX_REPLY_BYTES)
    }

    fn of(bytes: usize) -> Self {
        let units = bytes.div_ceil(UNIT);
        Self {
            free: Arc::new(Semaphore::new(units)),
            units,
        }
    }

    /// Waits for a place for so many bytes; what is larger than the room takes all of it. Those who
    /// came first get theirs first.
    ///
    /// # Errors
    /// [`RetrieverError::Stopped`] never in practice: the room is not closed.
    pub(crate) async fn take(&self, bytes: usize) -> Result<Place, RetrieverError> {
        let units = bytes.div_ceil(UNIT).clamp(1, self.units);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.free).acquire_many_owned(units).await;
        let permit = permit.map_err(|_| RetrieverError::Stopped)?;
        Ok(Place { _permit: permit })
    }
}

#[cfg(test)]
mod tests;

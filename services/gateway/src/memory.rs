//! The memory of requests that are read and of responses that are made, counted.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::Problem;

/// Bytes of one permit.
const UNIT: usize = 1024;
/// Copies of a message that becomes JSON or is read from it: the text, the message decoded, and as it is sent.
pub(crate) const JSON_COPIES: usize = 4;

/// Memory for all requests together.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    free: Arc<Semaphore>,
    units: usize,
}

/// Memory that is held until it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    memory: Memory,
    permit: Option<OwnedSemaphorePermit>,
    units: usize,
}

impl Memory {
    pub(crate) fn new(mebibytes: usize) -> Self {
        let units = mebibytes
            .saturating_mul(1024 * 1024 / UNIT)
            .clamp(1, Semaphore::MAX_PERMITS);
        Self {
            free: Arc::new(Semaphore::new(units)),
            units,
        }
    }

    /// Holds nothing yet.
    pub(crate) fn hold(&self) -> Held {
        Held {
            memory: self.clone(),
            permit: None,
            units: 0,
        }
    }

    /// Waits for the memory that a message of so many bytes takes while it is turned into JSON and sent. At most all.
    pub(crate) async fn wait(&self, bytes: usize) -> Held {
        let units = units(bytes.saturating_mul(JSON_COPIES)).min(self.units);
        let wanted = u32::try_from(units).unwrap_or(u32::MAX);
        // Closed it never is.
        let permit = Arc::clone(&self.free).acquire_many_owned(wanted).await.ok();
        Held {
            memory: self.clone(),
            permit,
            units,
        }
    }
}

impl Held {
    /// Holds memory for so many bytes in all, `copies` times.
    ///
    /// # Errors
    /// There is not enough left.
    pub(crate) fn grow(&mut self, bytes: usize, copies: usize) -> Result<(), Problem> {
        let wanted = units(bytes.saturating_mul(copies));
        let more = wanted.saturating_sub(self.units);
        if more == 0 {
            return Ok(());
        }
        let more_permits = u32::try_from(more).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.memory.free)
            .try_acquire_many_owned(more_permits)
            .map_err(|_| {
                Problem::full("the gateway has no memory left for requests: try again, or raise --request-memory-mib")
            })?;
        match &mut self.permit {
            Some(held) => held.merge(permit),
            None => self.permit = Some(permit),
        }
        self.units = wanted;
        Ok(())
    }
}

fn units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT)
}

#[cfg(test)]
mod tests;

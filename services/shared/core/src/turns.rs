//! Divides long computations into pieces, so that callers share the cores fairly.
//!
//! A long computation is cut into pieces of some milliseconds. A piece runs on a thread for blocking work, as many at
//! once as there are cores, and each caller has one piece in the queue at most: a small call waits for a piece of a large
//! one and never for all of it. Between two pieces the caller's future is polled, so that a caller that is dropped, because
//! its own caller is gone or its deadline past, computes no further piece.

use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock};

use tokio::sync::Semaphore;
use tracing::Span;

/// How many bytes of text are prepared in one piece: some milliseconds of work. What is longer is a piece of its own.
pub const PIECE_BYTES: usize = 16 << 10;

/// A fair queue for pieces of computation: they run in the order in which they were asked for.
#[derive(Clone, Debug)]
pub struct Turns {
    places: Arc<Semaphore>,
}

/// A piece of computation ended without a result: it panicked, or the process shuts down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a computation was broken off")]
pub struct BrokenOff;

impl Turns {
    /// A queue of its own that runs this many pieces at once, at least 1.
    #[must_use]
    pub fn new(at_once: usize) -> Self {
        let places = Arc::new(Semaphore::new(at_once.clamp(1, Semaphore::MAX_PERMITS)));
        Self { places }
    }

    /// The queue of this process, which runs one piece at once for each core that it may use.
    pub fn shared() -> &'static Self {
        static SHARED: LazyLock<Turns> =
            LazyLock::new(|| Turns::new(std::thread::available_parallelism().map_or(1, NonZeroUsize::get)));
        &SHARED
    }

    /// Computes one piece when its turn comes, within the caller's span.
    ///
    /// # Errors
    /// [`BrokenOff`] when the piece panics.
    pub async fn piece<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, BrokenOff> {
        // The semaphore is never closed.
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| BrokenOff)?;
        let span = Span::current();
        let piece = tokio::task::spawn_blocking(move || {
            // Kept by the piece and not by its caller, who may be gone before it ends.
            let _place = place;
            span.in_scope(work)
        });
        piece.await.map_err(|_| BrokenOff)
    }

    /// Computes `work` of each item, in order, in pieces of items that are together about [`PIECE_BYTES`] long.
    ///
    /// # Errors
    /// [`BrokenOff`] when a piece panics.
    pub async fn each<I: Send + 'static, T: Send + 'static>(
        &self,
        items: impl IntoIterator<Item = I>,
        bytes: impl Fn(&I) -> usize,
        work: impl Fn(I) -> T + Clone + Send + 'static,
    ) -> Result<Vec<T>, BrokenOff> {
        let mut items = items.into_iter().peekable();
        let mut done = Vec::new();
        while items.peek().is_some() {
            let (mut piece, mut size) = (Vec::new(), 0);
            while let Some(item) = items.next_if(|item| piece.is_empty() || size + bytes(item) <= PIECE_BYTES) {
                size += bytes(&item);
                piece.push(item);
            }
            let work = work.clone();
            done.extend(
                self.piece(move || piece.into_iter().map(work).collect::<Vec<T>>())
                    .await?,
            );
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests;

//! Divides long computations into pieces, so that callers share the cores fairly.
//!
//! A long computation is cut into pieces of some milliseconds, as many of which run at once as there are cores, on threads
//! that the system lets wait for those that serve. The next turn is that of the caller that has used least time so far, its
//! next piece included; see [`Places`].
//!
//! A caller that has used at most [`SHORT_MICROSECONDS`] waits for none of them: its pieces have places and threads of their
//! own. The first [`SMALL_MICROSECONDS`] of a [call](as_caller) are computed on the thread that asks for them: two threads would have to
//! be woken to hand them over.
//!
//! Between two pieces the caller's future is polled, so that a caller that is dropped, because its own caller is gone or
//! its deadline past, computes no further piece.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::{self, Runtime};
use tracing::Span;

use crate::let_others_first;
use crate::places::Places;

/// How many bytes of text are prepared in one piece: some milliseconds of work. What is longer is a piece of its own.
pub const PIECE_BYTES: usize = 16 << 10;
/// About how many bytes of text are analyzed in a microsecond; what a piece takes is known when it is done.
const BYTES_PER_MICROSECOND: usize = 4;
/// A caller that has used no more time than this, its next piece included, does not wait for those that have. It is well below
/// what preparing a text of [`PIECE_BYTES`] takes.
const SHORT_MICROSECONDS: u64 = 2_000;
/// The first pieces of a call, which are expected to take no longer than this altogether, are handed to no other thread. A
/// thread that serves is held no longer than that by any call.
const SMALL_MICROSECONDS: u64 = 1_000;
tokio::task_local! {
    /// The time that a caller has used, and that its next pieces are expected to use, in microseconds.
    static USED: Arc<AtomicU64>;
}

/// Two fair queues for pieces of computation: of callers that need little, and of all others.
#[derive(Clone, Debug)]
pub struct Turns {
    short: Places,
    long: Places,
}

/// A piece of computation ended without a result: it panicked, or the process shuts down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a computation was broken off")]
pub struct BrokenOff;

/// Runs `call` as one caller: all pieces that it computes count as its own. Without it each computation is a caller.
pub async fn as_caller<F: Future>(call: F) -> F::Output {
    USED.scope(Arc::default(), call).await
}

impl Turns {
    /// Queues of its own that run this many pieces at once each, at least 1.
    #[must_use]
    pub fn new(at_once: usize) -> Self {
        Self {
            short: Places::new(at_once),
            long: Places::new(at_once),
        }
    }

    /// The queues of this process, each of which runs one piece at once for each core that the process may use.
    pub fn shared() -> &'static Self {
        static SHARED: LazyLock<Turns> =
            LazyLock::new(|| Turns::new(std::thread::available_parallelism().map_or(1, NonZeroUsize::get)));
        &SHARED
    }

    /// Computes one piece, which reads about so many `bytes` of text, when its turn comes, within the caller's span.
    ///
    /// # Errors
    /// [`BrokenOff`] when the piece panics.
    pub async fn piece<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, BrokenOff> {
        self.piece_of(&Caller::current(), bytes, work).await
    }

    async fn piece_of<T: Send + 'static>(
        &self,
        caller: &Caller,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, BrokenOff> {
        let expected = (bytes / BYTES_PER_MICROSECOND) as u64;
        let used = Arc::clone(&caller.used);
        let before = used.fetch_add(expected, Ordering::Relaxed);
        let will_have_used = before.saturating_add(expected);
        if will_have_used < caller.small {
            return computed(&used, expected, work);
        }
        let is_short = will_have_used <= SHORT_MICROSECONDS;
        let lane = if is_short { &self.short } else { &self.long };
        let place = lane.place(will_have_used).await?;
        let span = Span::current();
        let piece = move || {
            // Kept by the piece and not by its caller, who may be gone before it ends.
            let _place = place;
            span.in_scope(|| computed(&used, expected, work))
        };
        let piece = match LONG.as_ref() {
            Some(threads) if !is_short => threads.spawn_blocking(piece),
            _ => tokio::task::spawn_blocking(piece),
        };
        piece.await.unwrap_or(Err(BrokenOff))
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
        let caller = Caller::current();
        let mut items = items.into_iter().peekable();
        let mut done = Vec::new();
        while items.peek().is_some() {
            let (mut piece, mut size) = (Vec::new(), 0);
            while let Some(item) = items.next_if(|item| piece.is_empty() || size + bytes(item) <= PIECE_BYTES) {
                size += bytes(&item);
                piece.push(item);
            }
            let work = work.clone();
            let work = move || piece.into_iter().map(work).collect::<Vec<T>>();
            done.extend(self.piece_of(&caller, size, work).await?);
        }
        Ok(done)
    }
}

/// The threads for pieces of long computations; `None` where they cannot be had.
static LONG: LazyLock<Option<Runtime>> = LazyLock::new(|| {
    let threads = runtime::Builder::new_current_thread()
        .thread_name("compute")
        .on_thread_start(let_others_first)
        .build();
    threads.ok()
});

/// Whose pieces are computed.
struct Caller {
    /// See [`USED`].
    used: Arc<AtomicU64>,
    /// How many microseconds of it are computed on the thread that asks for them: none of what is not known to be part of a
    /// call, for there can be any number of such.
    small: u64,
}

impl Caller {
    fn current() -> Self {
        match USED.try_with(Arc::clone) {
            Ok(used) => Self {
                used,
                small: SMALL_MICROSECONDS,
            },
            Err(_) => Self {
                used: Arc::default(),
                small: 0,
            },
        }
    }
}

/// Computes `work`, and counts what it takes beyond what was expected, in microseconds.
fn computed<T>(used: &AtomicU64, expected: u64, work: impl FnOnce() -> T) -> Result<T, BrokenOff> {
    let begun = thread_microseconds();
    // What a panic leaves behind is its caller's own, who is told.
    let done = catch_unwind(AssertUnwindSafe(work)).map_err(|_| BrokenOff);
    let took = thread_microseconds().saturating_sub(begun);
    used.fetch_add(took.saturating_sub(expected), Ordering::Relaxed);
    done
}

/// The time for which this thread has computed: on a busy machine a small piece is still a small one.
fn thread_microseconds() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    let microseconds = used
        .tv_sec
        .saturating_mul(1_000_000)
        .saturating_add(used.tv_nsec / 1_000);
    u64::try_from(microseconds).unwrap_or(0)
}

#[cfg(test)]
mod tests;

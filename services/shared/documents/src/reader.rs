//! The threads that documents are read on.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use crate::{bounds::Bounds, error::DocumentError, format::Format};

/// Room for readers that go down into a document by recursion.
const STACK_BYTES: usize = 64 << 20;
/// How often whoever waits for a reader looks at whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Most readers that work on after nobody waits for them any more. Above it no document of such a format is begun.
pub(crate) const MAX_ABANDONED: usize = 2;

/// Readers that cannot be told to stop.
pub(crate) struct Readers {
    /// Those that work on after nobody waits for them.
    abandoned: AtomicUsize,
}

/// Those of this process.
pub(crate) static READERS: Readers = Readers::new();

/// Runs a reader on a thread with room for its recursion. A panic becomes an error.
pub(crate) fn on_own_stack<T: Send>(
    format: Format,
    read: impl FnOnce() -> Result<T, DocumentError> + Send,
) -> Result<T, DocumentError> {
    thread::scope(|scope| {
        let reader = builder()
            .spawn_scoped(scope, AssertUnwindSafe(read))
            .map_err(|error| broken(format, error.to_string()))?;
        reader.join().unwrap_or_else(|_| Err(broke_off(format)))
    })
}

impl Readers {
    const fn new() -> Self {
        Self {
            abandoned: AtomicUsize::new(0),
        }
    }

    /// As [`on_own_stack`], for a reader that cannot be told to stop: once its time is over, or nobody waits any more, it
    /// is left to itself and what it finds is dropped.
    ///
    /// # Errors
    /// Those of the reader; [`DocumentError::Busy`] where too many readers were left to themselves.
    pub(crate) fn watch<T: Send + 'static>(
        &'static self,
        format: Format,
        bounds: Bounds<'_>,
        read: impl FnOnce(Bounds<'_>) -> Result<T, DocumentError> + Send + 'static,
    ) -> Result<T, DocumentError> {
        if self.abandoned.load(Ordering::SeqCst) >= MAX_ABANDONED {
            return Err(DocumentError::Busy { format });
        }
        let state = Arc::new(Mutex::new(State::Awaited));
        let (sender, receiver) = mpsc::channel();
        let end = End {
            readers: self,
            state: Arc::clone(&state),
        };
        let until = bounds.until_when();
        let reader = builder().spawn(move || {
            let stop = || end.state() == State::Abandoned;
            // Nobody may wait for it any more.
            drop(sender.send(read(Bounds::until(until, &stop))));
            drop(end);
        });
        reader.map_err(|error| broken(format, error.to_string()))?;
        loop {
            match receiver.recv_timeout(LOOK_EVERY) {
                Ok(outcome) => return outcome,
                Err(RecvTimeoutError::Disconnected) => return Err(broke_off(format)),
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(error) = bounds.stopped() {
                        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                        if *state == State::Awaited {
                            *state = State::Abandoned;
                            self.abandoned.fetch_add(1, Ordering::SeqCst);
                        }
                        return Err(error);
                    }
                }
            }
        }
    }
}

/// What became of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Awaited,
    Abandoned,
    Ended,
}

/// Notes the end of a reader, also where it panics.
struct End {
    readers: &'static Readers,
    state: Arc<Mutex<State>>,
}

impl End {
    fn state(&self) -> State {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if *state == State::Abandoned {
            self.readers.abandoned.fetch_sub(1, Ordering::SeqCst);
        }
        *state = State::Ended;
    }
}

fn builder() -> thread::Builder {
    thread::Builder::new()
        .name("document".to_owned())
        .stack_size(STACK_BYTES)
}

fn broken(format: Format, reason: String) -> DocumentError {
    DocumentError::Broken { format, reason }
}

fn broke_off(format: Format) -> DocumentError {
    broken(format, "its reader broke off; save it in another format".to_owned())
}

#[cfg(test)]
mod tests;

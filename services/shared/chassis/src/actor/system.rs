//! The one thread that runs actix beside tokio's.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;

use actix::{Arbiter, ArbiterHandle, System};
use slot::Slot;

/// A system of actors that lives on threads of its own.
///
/// `Actor::start` and `Arbiter::new` need actix's own runtime under them and panic in a plain tokio task. So one thread
/// runs the `System`, makes the arbiters when asked, and hands out their handles, which can be used from anywhere.
///
/// Cheap to clone; [`stop`](Self::stop) ends it for all clones, and so does dropping the last one.
#[derive(Clone, Debug)]
pub struct ActorSystem(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    system: System,
    thread: Slot<JoinHandle<()>>,
    arbiters: Slot<Vec<Arbiter>>,
}

/// The system of actors could not be started or is stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ActorSystemError {
    /// The operating system gave no thread.
    #[error("cannot start a thread for the actors")]
    Thread(#[source] std::io::Error),
    /// The system ended before it was asked anything, or was stopped.
    #[error("the system of actors is stopped")]
    Stopped,
}

impl ActorSystem {
    /// Starts the system on a thread called `name`.
    ///
    /// # Errors
    /// [`ActorSystemError`] when the operating system gives no thread.
    pub fn start(name: &str) -> Result<Self, ActorSystemError> {
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let runner = System::new();
                if sender.send(System::current()).is_ok()
                    && let Err(error) = runner.run()
                {
                    tracing::error!(%error, "the system of actors ended with an error");
                }
            })
            .map_err(ActorSystemError::Thread)?;
        let system = receiver.recv().map_err(|_| ActorSystemError::Stopped)?;
        Ok(Self(Arc::new(Inner {
            system,
            thread: Slot::new(thread),
            arbiters: Slot::new(Vec::new()),
        })))
    }

    /// A new arbiter: a thread with an event loop that actors share.
    ///
    /// # Errors
    /// [`ActorSystemError`] when the system is stopped or no thread is to be had.
    pub(crate) fn arbiter(&self) -> Result<ArbiterHandle, ActorSystemError> {
        let (sender, receiver) = mpsc::channel();
        self.0.system.arbiter().spawn_fn(move || {
            // The receiver waits below; that it is gone can only mean that its thread is.
            drop(sender.send(Arbiter::try_new()));
        });
        let arbiter = receiver
            .recv()
            .map_err(|_| ActorSystemError::Stopped)?
            .map_err(ActorSystemError::Thread)?;
        let handle = arbiter.handle();
        // The list is taken when the system stops; an arbiter made meanwhile would outlive it.
        if let Err(arbiter) = self.0.arbiters.add(arbiter) {
            arbiter.stop();
            return Err(ActorSystemError::Stopped);
        }
        Ok(handle)
    }

    /// Stops every actor and waits for the threads to end. Calls in flight get [`CallError::Gone`](crate::CallError).
    pub async fn stop(&self) {
        let arbiters = self.0.arbiters.take().unwrap_or_default();
        let thread = self.0.thread.take();
        self.0.system.stop();
        let joined = tokio::task::spawn_blocking(move || {
            for arbiter in arbiters {
                arbiter.stop();
                if arbiter.join().is_err() {
                    tracing::error!("an arbiter's thread had panicked");
                }
            }
            thread.map(JoinHandle::join)
        })
        .await;
        if !matches!(joined, Ok(None | Some(Ok(())))) {
            tracing::error!("the thread of the system of actors had panicked");
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.system.stop();
    }
}

mod slot {
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// A value that can be taken out once, shared between clones of the system.
    #[derive(Debug)]
    pub(super) struct Slot<T>(Mutex<Option<T>>);

    impl<T> Slot<T> {
        pub(super) fn new(value: T) -> Self {
            Self(Mutex::new(Some(value)))
        }

        pub(super) fn take(&self) -> Option<T> {
            self.lock().take()
        }

        // A panic while the lock is held leaves the option as it was: there is nothing half-done to fear.
        fn lock(&self) -> MutexGuard<'_, Option<T>> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    impl<T> Slot<Vec<T>> {
        /// Adds to the list, or gives the item back when the list was taken.
        pub(super) fn add(&self, item: T) -> Result<(), T> {
            match self.lock().as_mut() {
                Some(list) => {
                    list.push(item);
                    Ok(())
                }
                None => Err(item),
            }
        }
    }
}

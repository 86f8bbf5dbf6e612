//! The actors of one handle, by the work that each has.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix::Addr;
use tokio::sync::{oneshot, watch};

use super::Work;
use super::admission::Permit;
use super::job::{Bounds, Job, Return};
use super::service_actor::ServiceActor;

/// One actor's place in the pool.
pub(super) struct Seat<S: 'static> {
    /// `None` while the actor is being replaced.
    pub(super) address: Option<Addr<ServiceActor<S>>>,
    /// Jobs that it has, in its mailbox or at work.
    jobs: Arc<AtomicUsize>,
}

impl<S> Seat<S> {
    fn alive(&self) -> Option<&Addr<ServiceActor<S>>> {
        self.address.as_ref().filter(|address| address.connected())
    }
}

/// One more job of an actor, for as long as it lives.
pub(super) struct Load(Arc<AtomicUsize>);

impl Load {
    fn on(jobs: &Arc<AtomicUsize>) -> Self {
        jobs.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(jobs))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The seats, as handles see them.
pub(super) struct Pool<S: 'static>(watch::Receiver<Vec<Seat<S>>>);

/// No actor is alive just now; the work comes back.
pub(super) struct Unsent<W>(pub(super) W, pub(super) Permit);

impl<S> Pool<S> {
    /// A pool of empty seats, and the way to fill them.
    pub(super) fn new(seats: usize) -> (Self, watch::Sender<Vec<Seat<S>>>) {
        let seats = (0..seats).map(|_| Seat {
            address: None,
            jobs: Arc::default(),
        });
        let (sender, receiver) = watch::channel(seats.collect());
        (Self(receiver), sender)
    }

    /// Sends work to the actor that has the least to do; to the first of them, as its thread is the likeliest to be awake.
    pub(super) fn send<W: Work<S>>(
        &self,
        work: W,
        bounds: Bounds,
        permit: Permit,
    ) -> Result<oneshot::Receiver<Return<S, W>>, Unsent<W>> {
        let seats = self.0.borrow();
        let alive = seats.iter().filter_map(|seat| Some((seat.alive()?, &seat.jobs)));
        let Some((address, jobs)) = alive.min_by_key(|(_, jobs)| jobs.load(Ordering::Relaxed)) else {
            return Err(Unsent(work, permit));
        };
        let (job, answer) = Job::new(work, bounds, permit, Load::on(jobs));
        // Admission is the bound, so the mailbox has none. A mailbox that closed meanwhile drops the job, which returns.
        address.do_send(job);
        Ok(answer)
    }

    /// Waits until an actor is alive; `false` when none will ever be.
    pub(super) async fn wait(&self) -> bool {
        let mut seats = self.0.clone();
        let alive = seats.wait_for(|seats| seats.iter().any(|seat| seat.alive().is_some()));
        alive.await.is_ok()
    }

    #[cfg(test)]
    pub(super) fn alive(&self) -> usize {
        self.0.borrow().iter().filter(|seat| seat.alive().is_some()).count()
    }
}

//! The actors of one handle, by the work that each has.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use actix::Addr;
use tokio::sync::{oneshot, watch};

use super::Work;
use super::admission::Permit;
use super::job::{Bounds, Job, Return};
use super::service_actor::ServiceActor;

/// How many more jobs the actor of the calling thread may have than the least busy one before the latter gets the work.
/// A job that moves costs two wake-ups between threads, so a few jobs stay where they came in; many are spread.
pub(super) const MAX_LOCAL_LEAD: usize = 8;

/// One actor's place in the pool.
pub(super) struct Seat<S: 'static> {
    /// `None` while the actor is being replaced.
    pub(super) actor: Option<Started<S>>,
    /// Jobs that it has, in its mailbox or at work.
    jobs: Arc<AtomicUsize>,
}

/// An actor that was started.
pub(super) struct Started<S: 'static> {
    pub(super) address: Addr<ServiceActor<S>>,
    /// The thread that it runs on.
    pub(super) thread: ThreadId,
}

impl<S> Seat<S> {
    fn alive(&self) -> Option<&Started<S>> {
        self.actor.as_ref().filter(|actor| actor.address.connected())
    }

    fn jobs(&self) -> usize {
        self.jobs.load(Ordering::Relaxed)
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

/// The living actor that is to have work from `thread`, and the count of its jobs.
fn choose<S>(seats: &[Seat<S>], thread: ThreadId) -> Option<(&Started<S>, &Arc<AtomicUsize>)> {
    let alive = || seats.iter().filter_map(|seat| Some((seat, seat.alive()?)));
    let (idle, idle_actor) = alive().min_by_key(|(seat, _)| seat.jobs())?;
    let local = alive().find(|(_, actor)| actor.thread == thread);
    let (seat, actor) = local
        .filter(|(seat, _)| seat.jobs() < idle.jobs() + MAX_LOCAL_LEAD)
        .unwrap_or((idle, idle_actor));
    Some((actor, &seat.jobs))
}

/// The seats, as handles see them.
pub(super) struct Pool<S: 'static>(watch::Receiver<Vec<Seat<S>>>);

/// No actor is alive just now; the work comes back.
pub(super) struct Unsent<W>(pub(super) W, pub(super) Permit);

impl<S> Pool<S> {
    /// A pool of empty seats, and the way to fill them.
    pub(super) fn new(seats: usize) -> (Self, watch::Sender<Vec<Seat<S>>>) {
        let seats = (0..seats).map(|_| Seat {
            actor: None,
            jobs: Arc::default(),
        });
        let (sender, receiver) = watch::channel(seats.collect());
        (Self(receiver), sender)
    }

    /// Sends work to the actor of the calling thread, or to the one that has the least to do where that is another and
    /// the local one has [`MAX_LOCAL_LEAD`] jobs more.
    pub(super) fn send<W: Work<S>>(
        &self,
        work: W,
        bounds: Bounds,
        permit: Permit,
    ) -> Result<oneshot::Receiver<Return<S, W>>, Unsent<W>> {
        let seats = self.0.borrow();
        let Some((actor, jobs)) = choose(&seats, thread::current().id()) else {
            return Err(Unsent(work, permit));
        };
        let (job, answer) = Job::new(work, bounds, permit, Load::on(jobs));
        // Admission is the bound, so the mailbox has none. A mailbox that closed meanwhile drops the job, which returns.
        actor.address.do_send(job);
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

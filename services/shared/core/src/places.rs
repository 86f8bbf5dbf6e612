//! Places where something is computed, as many as can be at once, for those of the lowest rank first.
//!
//! One of [`OLDEST_EVERY`] places that become free goes to whoever waits longest, so that nobody waits for ever.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::turns::BrokenOff;

/// Every so many times a place goes to whoever waits longest.
pub(crate) const OLDEST_EVERY: u64 = 4;

/// Places, and who waits for one.
#[derive(Clone, Debug)]
pub struct Places(Arc<Mutex<Queue>>);

#[derive(Debug)]
struct Queue {
    /// Places that nobody has. None is free while anybody waits.
    free: usize,
    /// Who waits, by rank, and by when it came.
    waiting: BTreeMap<(u64, u64), oneshot::Sender<Place>>,
    /// The same by when it came.
    came: BTreeMap<u64, u64>,
    asked: u64,
    given: u64,
}

impl Queue {
    fn take_next(&mut self) -> Option<oneshot::Sender<Place>> {
        self.given += 1;
        let of_oldest = || self.came.first_key_value().map(|(came, rank)| (*rank, *came));
        let of_lowest = || self.waiting.first_key_value().map(|(key, _)| *key);
        let key = match self.given % OLDEST_EVERY {
            0 => of_oldest(),
            _ => of_lowest(),
        }?;
        self.came.remove(&key.1);
        self.waiting.remove(&key)
    }
}

/// The right to compute; dropped, it goes to the next one.
#[derive(Debug)]
pub struct Place(Option<Places>);

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(places) = self.0.take() {
            places.give_back();
        }
    }
}

impl Places {
    /// So many places, at least one.
    #[must_use]
    pub fn new(at_once: usize) -> Self {
        Self(Arc::new(Mutex::new(Queue {
            free: at_once.max(1),
            waiting: BTreeMap::new(),
            came: BTreeMap::new(),
            asked: 0,
            given: 0,
        })))
    }

    /// Waits for a place; somebody of a lower rank gets one earlier.
    ///
    /// # Errors
    /// [`BrokenOff`] where the process shuts down.
    pub async fn place(&self, rank: u64) -> Result<Place, BrokenOff> {
        let given = {
            let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if queue.free > 0 {
                queue.free -= 1;
                return Ok(Place(Some(self.clone())));
            }
            queue.asked += 1;
            let came = queue.asked;
            let (place, given) = oneshot::channel();
            queue.waiting.insert((rank, came), place);
            queue.came.insert(came, rank);
            given
        };
        // It is dropped only with the queue.
        given.await.map_err(|_| BrokenOff)
    }

    #[cfg(test)]
    pub(crate) fn free(&self) -> usize {
        self.0.lock().unwrap().free
    }

    /// Gives a place that is no longer used to the next one that still waits.
    fn give_back(&self) {
        loop {
            let next = {
                let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                let next = queue.take_next();
                queue.free += usize::from(next.is_none());
                next
            };
            let refused = next.and_then(|next| next.send(Place(Some(self.clone()))).err());
            match refused {
                // Its caller is gone. The place that came back is the one that is given here.
                Some(mut place) => place.0 = None,
                None => return,
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! Changes of files that wait to be looked at.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use emend_core::printable_line;
use notify::{
    Event, EventKind,
    event::{AccessKind, AccessMode},
};
use tokio::sync::Notify;

use crate::terminal;

/// Most paths that wait; with more, everything is looked at.
const MAX_PATHS: usize = 10_000;
/// Changes are looked at once there was none for this time: an editor writes a file in several steps.
const QUIET: Duration = Duration::from_millis(300);
/// Changes that never end are looked at after this time.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// What has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Batch {
    /// These paths, and what is below them.
    Paths(BTreeSet<PathBuf>),
    /// Nobody knows.
    Everything,
}

/// Changes that wait. Takes any number of them in bounded memory.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    paths: BTreeSet<PathBuf>,
    everything: bool,
    /// When the first and the last of them came.
    since: Option<(Instant, Instant)>,
    /// Whether it was said that changes may be missed.
    warned: bool,
}

impl Waiting {
    fn add(&mut self, paths: impl IntoIterator<Item = PathBuf>, now: Instant) {
        for path in paths {
            if !self.everything {
                self.paths.insert(path);
            }
            if self.paths.len() > MAX_PATHS {
                self.everything = true;
                self.paths = BTreeSet::new();
            }
        }
        self.touch(now);
    }

    fn touch(&mut self, now: Instant) {
        if self.everything || !self.paths.is_empty() {
            let first = self.since.map_or(now, |(first, _)| first);
            self.since = Some((first, now));
        }
    }

    /// How long it is until they are looked at; `None` where there are none.
    fn due(&self, now: Instant) -> Option<Duration> {
        let (first, last) = self.since?;
        Some((last + QUIET).min(first + MAX_WAIT).saturating_duration_since(now))
    }

    fn take(&mut self) -> Batch {
        self.since = None;
        let paths = std::mem::take(&mut self.paths);
        match std::mem::take(&mut self.everything) {
            true => Batch::Everything,
            false => Batch::Paths(paths),
        }
    }
}

impl Queue {
    /// Takes what the operating system says.
    pub(super) fn add(&self, event: notify::Result<Event>) {
        let now = Instant::now();
        let mut waiting = self.waiting();
        match event {
            Ok(event) if event.need_rescan() => {
                waiting.everything = true;
                waiting.paths = BTreeSet::new();
                waiting.touch(now);
            }
            // Reading a file changes nothing.
            Ok(event) if !is_change(event.kind) => return,
            Ok(event) => waiting.add(event.paths, now),
            Err(error) => {
                waiting.everything = true;
                waiting.touch(now);
                if !std::mem::replace(&mut waiting.warned, true) {
                    terminal::eprintln(format_args!(
                        "changes may be missed: {}; --rescan looks at all files again and again",
                        printable_line(&error.to_string())
                    ));
                }
            }
        }
        drop(waiting);
        self.wake.notify_one();
    }

    /// Puts changes back that could not be dealt with.
    pub(super) fn put_back(&self, batch: Batch) {
        let mut waiting = self.waiting();
        match batch {
            Batch::Everything => {
                waiting.everything = true;
                waiting.touch(Instant::now());
            }
            Batch::Paths(paths) => waiting.add(paths, Instant::now()),
        }
        drop(waiting);
        self.wake.notify_one();
    }

    /// The next changes, once they have come to rest.
    pub(super) async fn next(&self) -> Batch {
        loop {
            let due = self.waiting().due(Instant::now());
            match due {
                None => self.wake.notified().await,
                Some(Duration::ZERO) => return self.waiting().take(),
                Some(wait) => tokio::time::sleep(wait).await,
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests;

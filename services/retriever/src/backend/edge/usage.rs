//! Which collections of a store are open, and which was used last.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Most collections that stay open. Each takes some 32 MiB of mapped memory and a few dozen open files.
pub(super) const MAX_OPEN: usize = 32;

/// Counts for all collections of a store.
#[derive(Debug, Default)]
pub(super) struct Usage {
    clock: AtomicU64,
    open: AtomicUsize,
    /// How often a catalog and an index were opened.
    catalogs: AtomicUsize,
    indexes: AtomicUsize,
}

impl Usage {
    /// A time that is later than all times before.
    pub(super) fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A collection stays open from here on.
    pub(super) fn opened(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Collections that are open.
    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    pub(super) fn opened_catalog(&self) {
        self.catalogs.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn opened_index(&self) {
        self.indexes.fetch_add(1, Ordering::Relaxed);
    }

    /// How often a catalog and an index were opened so far.
    #[cfg(test)]
    pub(super) fn opens(&self) -> (usize, usize) {
        (
            self.catalogs.load(Ordering::Relaxed),
            self.indexes.load(Ordering::Relaxed),
        )
    }
}

//! What the writer of a collection remembers between two writes.

/// Inserted points after which the index is optimized. As many are still compared exhaustively in a few milliseconds.
const OPTIMIZE_AT: usize = 8192;

/// Removed points after which the index is optimized, and points that a segment must have for it to be worth while. Until
/// then words count as if they were there.
pub(super) const VACUUM_AT: usize = 256;

#[derive(Default)]
pub(super) struct Writer {
    /// 0 until it is read from the catalog.
    pub(super) next_version: u64,
    /// Points that were inserted since graphs were built.
    pub(super) inserted: usize,
    /// Points that were removed since the index was optimized.
    pub(super) removed: usize,
}

impl Writer {
    /// Whether the index is to be optimized.
    pub(super) fn is_due(&self) -> bool {
        self.inserted >= OPTIMIZE_AT || self.removed >= VACUUM_AT
    }

    /// The index was optimized.
    pub(super) fn optimized(&mut self) {
        if self.inserted >= OPTIMIZE_AT {
            self.inserted = 0;
        }
        self.removed = 0;
    }
}

//! Checks for free disk space.
//!
//! The engine writes through memory maps of sparse files. On a full disk such a write does not fail but raises a signal
//! that ends the process, so space is checked in advance.

use std::path::Path;

use crate::backend::StoreError;

/// Bytes that must stay free after any write. The engine's files grow in steps of this order.
const RESERVE: u64 = 96 << 20;

/// Factor from a document's size to the bytes written. It is written to the catalog, the index and the index's log,
/// with pages copied on write, some of it twice.
const COPIES: u64 = 6;

/// Bytes that must be free to open an index and to remove documents: both write a little to the engine's maps and its log,
/// whose segments have 8 MiB, and removing copies pages of the catalog. Less than what a document needs, so that there is
/// a way to free space.
const SMALL_RESERVE: u64 = 24 << 20;

/// How the free space of a folder is found out.
pub(super) type FreeSpace = fn(&Path) -> std::io::Result<u64>;

/// The disk space of a collection.
#[derive(Clone, Copy)]
pub(super) struct Space(pub(super) FreeSpace);

impl Default for Space {
    fn default() -> Self {
        Self(|folder| fs4::available_space(folder))
    }
}

impl Space {
    /// Fails if `folder` has no space for a document of `bytes`. If the free space is unknown, the check passes.
    pub(super) fn for_document(self, folder: &Path, bytes: u64) -> Result<(), StoreError> {
        self.require(folder, RESERVE.saturating_add(bytes.saturating_mul(COPIES)))
    }

    /// Fails if `folder` has no space to open an index or to remove documents.
    pub(super) fn for_upkeep(self, folder: &Path) -> Result<(), StoreError> {
        self.require(folder, SMALL_RESERVE)
    }

    fn require(self, folder: &Path, needed: u64) -> Result<(), StoreError> {
        match (self.0)(folder) {
            Ok(free) => enough(folder, free, needed),
            Err(error) => {
                tracing::debug!(%error, folder = %folder.display(), "cannot read the free disk space");
                Ok(())
            }
        }
    }
}

fn enough(folder: &Path, free: u64, needed: u64) -> Result<(), StoreError> {
    if free >= needed {
        return Ok(());
    }
    Err(StoreError::NoSpace {
        folder: folder.to_owned(),
        free_mib: free >> 20,
        needed_mib: needed.div_ceil(1 << 20),
    })
}

#[cfg(test)]
mod tests;

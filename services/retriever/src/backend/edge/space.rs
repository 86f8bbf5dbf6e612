//! Whether there is room on the disk.
//!
//! The engine writes through memory maps of sparse files. On a full disk such a write is no error but a signal that ends
//! the process, so we stop before it comes to that.

use std::path::Path;

use crate::backend::StoreError;

/// What must stay free whatever is written: the files of the engine grow in steps of this order.
const RESERVE: u64 = 96 << 20;

/// A document is written to the catalog, to the index and to the index's log; copying pages while they change, some of it
/// twice.
const COPIES: u64 = 6;

/// Fails unless `bytes` more can be stored in `folder`. A file system that does not say how full it is passes.
pub(super) fn require(folder: &Path, bytes: u64) -> Result<(), StoreError> {
    match fs4::available_space(folder) {
        Ok(free) => enough(folder, free, bytes),
        Err(error) => {
            tracing::debug!(%error, folder = %folder.display(), "free space is not known");
            Ok(())
        }
    }
}

fn enough(folder: &Path, free: u64, bytes: u64) -> Result<(), StoreError> {
    let needed = RESERVE.saturating_add(bytes.saturating_mul(COPIES));
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

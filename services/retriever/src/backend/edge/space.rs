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

/// Fails if `folder` has no space for `bytes` more. If the free space is unknown, the check passes.
pub(super) fn require(folder: &Path, bytes: u64) -> Result<(), StoreError> {
    match fs4::available_space(folder) {
        Ok(free) => enough(folder, free, bytes),
        Err(error) => {
            tracing::debug!(%error, folder = %folder.display(), "cannot read the free disk space");
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

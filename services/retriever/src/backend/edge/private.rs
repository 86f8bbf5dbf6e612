//! Folders that only their owner reads: documents are in them.

use std::fs;
use std::io;
use std::path::Path;

/// Creates a folder, and those above it, for the owner alone. One that is there stays as it is.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The permissions of a folder, where others than its owner have some.
#[cfg(unix)]
pub(super) fn open_to_others(folder: &Path) -> io::Result<Option<u32>> {
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(folder)?.permissions()) & 0o777;
    Ok((mode & 0o077 != 0).then_some(mode))
}

/// The permissions of a folder are unknown here.
#[cfg(not(unix))]
pub(super) fn open_to_others(_folder: &Path) -> io::Result<Option<u32>> {
    Ok(None)
}

#[cfg(all(test, unix))]
mod tests;

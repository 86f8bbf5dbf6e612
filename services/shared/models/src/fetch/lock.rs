//! One download of a model at a time, across processes.

use std::{
    fs::{File, TryLockError},
    path::Path,
    time::Duration,
};

use crate::progress::Progress;

/// Held while a model is downloaded; the system lets it go with the process, whatever becomes of that.
pub(super) struct DownloadLock {
    _file: File,
}

/// Waits for the lock of the model in `dir`.
///
/// `None` where the file system has no locks: temporary names and atomic renames still keep the files whole, and all that
/// is lost is that two processes may download the same.
pub(super) async fn acquire(dir: &Path, progress: &Progress) -> Option<DownloadLock> {
    let path = dir.join(".lock");
    let file = match File::options().create(true).append(true).open(&path) {
        Ok(file) => file,
        Err(error) => {
            tracing::debug!(path = %path.display(), error = %error, "no lock for the download");
            return None;
        }
    };
    loop {
        match file.try_lock() {
            Ok(()) => return Some(DownloadLock { _file: file }),
            Err(TryLockError::WouldBlock) => {
                progress.message("waiting for another process that downloads the same model");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            Err(TryLockError::Error(error)) => {
                tracing::debug!(path = %path.display(), error = %error, "no lock for the download");
                return None;
            }
        }
    }
}

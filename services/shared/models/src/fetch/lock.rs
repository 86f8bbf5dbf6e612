//! A file lock that serialises downloads of a model across processes.

use std::{
    fs::{File, TryLockError},
    path::Path,
    time::Duration,
};

use crate::progress::Progress;

/// Held while a model is downloaded. The operating system releases it when the process ends.
pub(super) struct DownloadLock {
    _file: File,
}

/// Waits for the download lock of the model in `dir`.
///
/// Returns `None` if the file system does not support locks. Files stay consistent even so, because downloads use
/// temporary names and atomic renames, but two processes may download the same model.
pub(super) async fn acquire(dir: &Path, progress: &Progress) -> Option<DownloadLock> {
    let path = dir.join(".lock");
    let file = match File::options().create(true).append(true).open(&path) {
        Ok(file) => file,
        Err(error) => {
            tracing::debug!(path = %path.display(), error = %error, "cannot lock the download folder");
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
                tracing::debug!(path = %path.display(), error = %error, "cannot lock the download folder");
                return None;
            }
        }
    }
}

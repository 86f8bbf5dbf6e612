//! The saved pages of a folder and their index, with incremental refresh.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use std::{fs, io};

use ignore::WalkBuilder;
use tokio_util::sync::CancellationToken;

use super::page::{self, Budget, Format};
use crate::backend::index::Index;
use crate::backend::page::Page;

/// Number of files between progress log lines.
const FILES_PER_LOG_LINE: usize = 1000;

/// The size and modification time of a file, to detect changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    bytes: u64,
    written: SystemTime,
}

/// An immutable snapshot of a folder's pages. A refresh replaces it with a newer one.
#[derive(Debug, Default)]
pub(super) struct Library {
    files: BTreeMap<PathBuf, (Stamp, Vec<Arc<Page>>)>,
    pub(super) index: Index,
}

impl Library {
    /// Reads all pages below `folder`, until `closed` is cancelled.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) fn open(folder: &Path, passage_chars: usize, closed: &CancellationToken) -> io::Result<Self> {
        // The walk below skips what it cannot read, but a missing folder or a file must be an error.
        drop(fs::read_dir(folder)?);
        Ok(Self::default()
            .refreshed(folder, passage_chars, closed)
            .unwrap_or_default())
    }

    /// The library for the current state of the folder; `None` if no file has changed, or `closed` is cancelled.
    ///
    /// Unchanged files are not read again. If the folder is temporarily missing, as when a volume is swapped, the
    /// library is kept.
    pub(super) fn refreshed(&self, folder: &Path, passage_chars: usize, closed: &CancellationToken) -> Option<Self> {
        if let Err(error) = fs::read_dir(folder) {
            tracing::warn!(folder = %folder.display(), %error, "cannot read the folder of saved pages, keeping the pages read before");
            return None;
        }
        let stamps = scan(folder);
        let known = self.files.iter().map(|(path, (stamp, _))| (path, stamp));
        if known.eq(stamps.iter().map(|(path, (_, stamp))| (path, stamp))) {
            return None;
        }
        tracing::info!(folder = %folder.display(), files = stamps.len(), "reading saved pages");
        let mut files = BTreeMap::new();
        let mut skipped = 0_usize;
        let all = stamps.len();
        for (number, (path, (format, stamp))) in stamps.into_iter().enumerate() {
            if closed.is_cancelled() {
                return None;
            }
            let kept = self
                .files
                .get(&path)
                .filter(|(known, _)| *known == stamp)
                .map(|(_, pages)| pages.clone());
            let pages = kept.unwrap_or_else(|| {
                let mut on_error = |error: page::PageError| {
                    skipped += 1;
                    tracing::warn!(file = %path.display(), error = %emend_core::error_chain(&error), "skipped a page");
                };
                page::read(&path, format, stamp.written, &Budget::of_file(closed), &mut on_error)
                    .into_iter()
                    .map(Arc::new)
                    .collect()
            });
            files.insert(path, (stamp, pages));
            if (number + 1) % FILES_PER_LOG_LINE == 0 {
                tracing::info!(read = number + 1, of = all, "reading saved pages");
            }
        }
        let pages = files.values().map(|(_, pages)| pages.len()).sum::<usize>();
        tracing::info!(pages, "indexing saved pages");
        let index = Index::build(
            files.values().flat_map(|(_, pages)| pages.iter().cloned()),
            passage_chars,
            closed,
        )?;
        if pages == 0 {
            tracing::warn!(folder = %folder.display(), "the folder has no pages; supported are .html, .htm, .md, .markdown, .txt and .jsonl files");
        }
        tracing::info!(
            files = files.len(),
            pages,
            passages = index.len(),
            skipped,
            "saved pages are ready"
        );
        Some(Self { files, index })
    }
}

/// The page files below `folder`, in the order of their paths. Hidden files and folders are skipped. Symbolic links are
/// followed within the folder, as mounted volumes are full of them; what they lead to outside of it is none of it.
fn scan(folder: &Path) -> BTreeMap<PathBuf, (Format, Stamp)> {
    let root = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let walk = WalkBuilder::new(folder)
        .standard_filters(false)
        .hidden(true)
        .follow_links(true)
        .filter_entry(move |entry| {
                let is_inside = !entry.path_is_symlink() || stays_in(&root, entry.path());
                if !is_inside {
                    tracing::warn!(link = %entry.path().display(), "skipped a symbolic link that leads out of the folder of saved pages");
                }
                is_inside
            })
        .build();
    let mut found = BTreeMap::new();
    for entry in walk {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                tracing::warn!(%error, "cannot read a part of the folder of saved pages");
                continue;
            }
        };
        let Some(format) = Format::of(entry.path()) else {
            continue;
        };
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_file() {
            let written = metadata.modified().unwrap_or_else(|_| SystemTime::now());
            found.insert(
                entry.into_path(),
                (
                    format,
                    Stamp {
                        bytes: metadata.len(),
                        written,
                    },
                ),
            );
        }
    }
    found
}

/// Whether what is at `path` is below `root`; both may be symbolic links.
fn stays_in(root: &Path, path: &Path) -> bool {
    fs::canonicalize(path).is_ok_and(|path| path.starts_with(root))
}

#[cfg(test)]
mod tests;

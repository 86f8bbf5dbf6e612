//! The files below a folder.

use std::{
    collections::{BTreeSet, HashSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{FileKind, Found, Reading, Skipped, Source, kind_by_content, kind_of};

/// Folders without documents of their own: what tools fetched or built.
const BUILT: [&str; 2] = ["node_modules", "__pycache__"];

/// The part of a folder that is looked at: some paths and what is below them.
#[derive(Clone, Debug, Default)]
pub struct Part {
    paths: BTreeSet<PathBuf>,
    /// The folders on the way to them.
    above: HashSet<PathBuf>,
}

impl Part {
    /// These paths, whether they exist or not.
    pub fn new(paths: BTreeSet<PathBuf>) -> Self {
        let above = paths.iter().flat_map(|path| path.ancestors().skip(1));
        Self {
            above: above.map(Path::to_owned).collect(),
            paths,
        }
    }

    /// The paths.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(PathBuf::as_path)
    }

    fn is_on_the_way(&self, path: &Path) -> bool {
        self.above.contains(path) || self.has(path)
    }

    fn has(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.paths.contains(above))
    }
}

/// Adds the files below `folder` to `found`, all or those of a part of it. Its own name is not asked about.
pub(super) fn find(folder: &Path, reading: &Reading, part: Option<&Arc<Part>>, found: &mut Found) {
    let refused = Arc::new(Mutex::new(Vec::new()));
    let selection = Arc::new(reading.selection.clone());
    let mut walk = ignore::WalkBuilder::new(folder);
    walk.standard_filters(false).hidden(true).sort_by_file_path(Path::cmp);
    // A folder within a repository is read as the repository says, so the folders above it are asked too.
    for above in folder.ancestors() {
        if let Some(name) = selection.unusable_ignore_file(above) {
            found.leave(unusable(folder, &above.join(name)));
            return;
        }
    }
    if selection.has_ignore_files() {
        walk.git_ignore(true).ignore(true).require_git(false).parents(true);
    }
    walk.filter_entry({
        let (root, refused) = (folder.to_owned(), Arc::clone(&refused));
        let part = part.map(Arc::clone);
        move |entry| {
            let path = entry.path();
            let Some(relative) = path.strip_prefix(&root).ok().filter(|_| entry.depth() > 0) else {
                return true;
            };
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            if part.as_ref().is_some_and(|part| !part.is_on_the_way(path))
                || is_folder && is_built(path)
                || selection.leaves_out(relative, is_folder)
            {
                return false;
            }
            match selection.unusable_ignore_file(path).filter(|_| is_folder) {
                Some(name) => {
                    let mut refused = refused.lock().unwrap_or_else(PoisonError::into_inner);
                    refused.push(unusable(path, &path.join(name)));
                    false
                }
                None => true,
            }
        }
    });
    let left_out = |kind, source: &Path, reason: &str| Skipped {
        kind,
        source: source.display().to_string(),
        reason: reason.to_owned(),
    };
    for entry in walk.build() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let source = path_of(&error).unwrap_or(folder);
                found.unread.push(source.to_owned());
                found
                    .skipped
                    .push(left_out(FileKind::Unreadable, source, &error.to_string()));
                continue;
            }
        };
        let (path, kind) = (entry.path(), entry.file_type());
        if kind.is_some_and(|kind| kind.is_dir()) || part.is_some_and(|part| !part.has(path)) {
            continue;
        }
        if kind.is_some_and(|kind| kind.is_file()) {
            match kind_of(path, &reading.fields).map_or_else(|| kind_by_content(path), |kind| Ok(Some(kind))) {
                Ok(Some(kind)) => found.sources.push(Source {
                    path: path.to_owned(),
                    kind,
                }),
                Ok(None) => {
                    let reason = "it is neither text nor a document that is read";
                    found.skipped.push(left_out(FileKind::of(path), path, reason));
                }
                Err(error) => found.leave(left_out(FileKind::Unreadable, path, &error.to_string())),
            }
        } else if entry.path_is_symlink() {
            // Links are not followed: they could lead out of the folder, or round in it.
            let reason = "it is a symbolic link, which is not followed; give its target by name";
            found.skipped.push(left_out(FileKind::Link, path, reason));
        } else {
            found
                .skipped
                .push(left_out(FileKind::Special, path, "it is a pipe, a device or a socket"));
        }
    }
    for folder in std::mem::take(&mut *refused.lock().unwrap_or_else(PoisonError::into_inner)) {
        found.leave(folder);
    }
}

/// A folder that is not read because of a file that names what is ignored.
fn unusable(folder: &Path, file: &Path) -> Skipped {
    Skipped {
        kind: FileKind::Unreadable,
        source: folder.display().to_string(),
        reason: format!(
            "{} is no regular file of at most 1 MiB; replace it, or give --no-ignore",
            file.display()
        ),
    }
}

/// The path that could not be read.
fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        ignore::Error::Loop { child, .. } => Some(child),
        ignore::Error::Partial(errors) => errors.iter().find_map(path_of),
        _ => None,
    }
}

/// Whether a folder holds what a tool fetched or built: by its name, or, for `target`, by the `Cargo.toml` beside it.
fn is_built(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    BUILT.contains(&name) || name == "target" && folder.with_file_name("Cargo.toml").is_file()
}

#[cfg(test)]
mod tests;

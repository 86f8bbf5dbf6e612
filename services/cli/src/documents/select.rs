//! Which files of a folder are read: globs, and the files that name what is ignored.

use std::{fs, path::Path};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Most globs of an option.
const MAX_GLOBS: usize = 100;
/// Longest glob, in bytes.
const MAX_GLOB_BYTES: usize = 1 << 10;
/// Largest file that names what is ignored, in bytes.
const MAX_IGNORE_BYTES: u64 = 1 << 20;
/// Files that name what is ignored in their folder and below.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// Which files of a folder are read. Hidden files and what tools built are left out in any case.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    include: Option<Gitignore>,
    exclude: Option<Gitignore>,
    no_ignore: bool,
}

/// A glob that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option} {glob:?}: {reason}")]
pub struct BadGlob {
    option: &'static str,
    glob: String,
    reason: String,
}

impl Selection {
    /// Only files that match a glob of `include` where there are any, and none that matches one of `exclude`. Globs are
    /// those of `.gitignore`, from the folder that is read. Unless `no_ignore`, what `.gitignore` and `.ignore` name is
    /// left out too.
    ///
    /// # Errors
    /// [`BadGlob`] for the first glob that cannot be used.
    pub fn new(include: &[String], exclude: &[String], no_ignore: bool) -> Result<Self, BadGlob> {
        Ok(Self {
            include: globs("--include", include)?,
            exclude: globs("--exclude", exclude)?,
            no_ignore,
        })
    }

    /// Whether `.gitignore` and `.ignore` are looked at.
    pub(super) fn has_ignore_files(&self) -> bool {
        !self.no_ignore
    }

    /// Whether a path below the folder is left out by a glob. Folders above it have been asked about before.
    pub(super) fn leaves_out(&self, relative: &Path, is_folder: bool) -> bool {
        let excluded = |globs: &Gitignore| globs.matched(relative, is_folder).is_ignore();
        let included = |globs: &Gitignore| globs.matched_path_or_any_parents(relative, is_folder).is_ignore();
        self.exclude.as_ref().is_some_and(excluded) || !is_folder && !self.include.as_ref().is_none_or(included)
    }

    /// Whether a change of this file changes which files are read.
    pub fn depends_on(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        self.has_ignore_files() && name.is_some_and(|name| IGNORE_FILES.contains(&name))
    }

    /// The file that names what is ignored in `folder`, where it must not be read: a pipe would never end, nor would a
    /// link to a device.
    pub(super) fn unusable_ignore_file(&self, folder: &Path) -> Option<&'static str> {
        let usable = |name: &&str| match fs::symlink_metadata(folder.join(name)) {
            Ok(found) => found.is_file() && found.len() <= MAX_IGNORE_BYTES,
            Err(_) => true,
        };
        let all = self.has_ignore_files().then_some(IGNORE_FILES).into_iter().flatten();
        all.into_iter().find(|name| !usable(name))
    }
}

fn globs(option: &'static str, globs: &[String]) -> Result<Option<Gitignore>, BadGlob> {
    let bad = |glob: &str, reason: String| BadGlob {
        option,
        glob: glob.chars().take(64).collect(),
        reason,
    };
    let Some(first) = globs.first() else {
        return Ok(None);
    };
    if globs.len() > MAX_GLOBS {
        return Err(bad(
            first,
            format!("and others are {}, at most {MAX_GLOBS} are taken", globs.len()),
        ));
    }
    let mut builder = GitignoreBuilder::new("");
    for glob in globs {
        if glob.trim().is_empty() {
            return Err(bad(glob, "is blank; give a glob such as *.md or drafts/".to_owned()));
        }
        if glob.len() > MAX_GLOB_BYTES {
            return Err(bad(
                glob,
                format!("has {} bytes, at most {MAX_GLOB_BYTES} are taken", glob.len()),
            ));
        }
        if glob.starts_with('!') {
            let advice = "begins with `!`; use the other of --include and --exclude, or write `\\!` for the character";
            return Err(bad(glob, advice.to_owned()));
        }
        // In a file it would be a comment.
        let escaped = glob.strip_prefix('#').map(|rest| format!("\\#{rest}"));
        let added = builder.add_line(None, escaped.as_deref().unwrap_or(glob));
        added.map_err(|error| bad(glob, error.to_string()))?;
    }
    builder.build().map(Some).map_err(|error| bad(first, error.to_string()))
}

#[cfg(test)]
mod tests;

//! Which files were ingested, in which state, and which documents are in them.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs,
    ops::Bound,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::{
    documents::{Found, Part, Skipped},
    ingest::send::ReadFile,
};

/// A file that was changed so shortly before it was looked at may be changed again without looking different.
const UNCERTAIN: Duration = Duration::from_secs(2);

/// What is known of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
    /// Device and number of the file.
    file: (u64, u64),
    /// When its name, owner or content changed.
    changed: (i64, i64),
    is_certain: bool,
}

/// Files, and what was known of them before they were read.
pub(super) type Stamps = HashMap<PathBuf, Stamp>;

impl Stamp {
    /// What is known now; `None` where it cannot be told.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let known = fs::symlink_metadata(path).ok()?;
        let modified = known.modified().ok();
        let age = modified.and_then(|modified| SystemTime::now().duration_since(modified).ok());
        #[cfg(unix)]
        let (file, changed) = {
            use std::os::unix::fs::MetadataExt as _;
            ((known.dev(), known.ino()), (known.ctime(), known.ctime_nsec()))
        };
        #[cfg(not(unix))]
        let (file, changed) = ((0, 0), (0, 0));
        Some(Self {
            bytes: known.len(),
            modified,
            file,
            changed,
            is_certain: age.is_some_and(|age| age > UNCERTAIN),
        })
    }

    pub(super) fn is_same_file(&self, other: &Self) -> bool {
        self.file == other.file
    }

    /// Whether a file that looks like `now` is surely what it was.
    fn still_holds(&self, now: &Self) -> bool {
        let now = Self {
            is_certain: self.is_certain,
            ..*now
        };
        self.is_certain && *self == now
    }
}

/// The files that were ingested.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    files: BTreeMap<PathBuf, Kept>,
    /// The file that each record was read from last.
    records: HashMap<String, PathBuf>,
    skipped: HashSet<String>,
}

#[derive(Debug)]
struct Kept {
    stamp: Option<Stamp>,
    /// The identifiers of its records; `None` where it is one document.
    records: Option<Vec<String>>,
    /// Whether some version of it is stored, where it is one document.
    is_stored: bool,
}

impl Shelf {
    /// Whether a file was ingested as it is now.
    pub(super) fn has(&self, path: &Path, now: Option<&Stamp>) -> bool {
        let kept = self.files.get(path).and_then(|kept| kept.stamp);
        matches!((kept, now), (Some(kept), Some(now)) if kept.still_holds(now))
    }

    /// Files that were ingested and are not found any more, all or those of a part.
    pub(super) fn gone(&self, found: &Found, part: Option<&Part>) -> Vec<PathBuf> {
        let there: HashSet<&Path> = found.sources.iter().map(|source| source.path()).collect();
        let is_gone = |path: &&PathBuf| {
            !there.contains(path.as_path()) && !found.unread.iter().any(|unread| path.starts_with(unread))
        };
        match part {
            None => self.files.keys().filter(is_gone).cloned().collect(),
            Some(part) => part
                .paths()
                .flat_map(|path| self.below(path))
                .filter(is_gone)
                .cloned()
                .collect(),
        }
    }

    /// A file, and the files below it where it is a folder.
    fn below<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a PathBuf> {
        let range = self.files.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
        range
            .map(|(file, _)| file)
            .take_while(move |file| file.starts_with(path))
    }

    /// The documents that go with files that are gone, and with records that are not in their files any more.
    pub(super) fn removed_by(&self, gone: &[PathBuf], read: &[ReadFile]) -> Vec<String> {
        let mut there: HashSet<&str> = HashSet::new();
        for file in read {
            there.extend(file.records.iter().flatten().map(String::as_str));
        }
        let mut removed = Vec::new();
        let whole = gone.iter().map(|path| (path, false));
        let parts = read
            .iter()
            .filter(|file| file.is_complete)
            .map(|file| (&file.path, true));
        for (path, is_there) in whole.chain(parts) {
            match self.files.get(path).map(|kept| (&kept.records, kept.is_stored)) {
                Some((Some(records), _)) => {
                    let own = |id: &&String| self.records.get(*id) == Some(path) && !there.contains(id.as_str());
                    removed.extend(records.iter().filter(own).cloned());
                }
                Some((None, true)) if !is_there => removed.push(path.display().to_string()),
                _ => {}
            }
        }
        removed.sort();
        removed.dedup();
        removed
    }

    /// Keeps a file that was read.
    pub(super) fn put(&mut self, mut file: ReadFile, stamps: &Stamps) {
        let stamp = stamps.get(&file.path).copied();
        if let (false, Some(kept), Some(records)) = (file.is_complete, self.files.get(&file.path), &mut file.records) {
            // Nobody knows which of them are still there.
            records.extend(kept.records.iter().flatten().cloned());
            records.sort();
            records.dedup();
        }
        for record in file.records.iter().flatten() {
            self.records.insert(record.clone(), file.path.clone());
        }
        let kept = Kept {
            stamp,
            is_stored: file.is_stored || self.files.get(&file.path).is_some_and(|before| before.is_stored),
            records: file.records,
        };
        let before = self.files.insert(file.path.clone(), kept);
        let now: HashSet<&String> = self
            .files
            .get(&file.path)
            .into_iter()
            .flat_map(|kept| kept.records.iter().flatten())
            .collect();
        let lost = before.and_then(|before| before.records).unwrap_or_default();
        let lost: Vec<String> = lost.into_iter().filter(|record| !now.contains(record)).collect();
        self.forget(&file.path, &lost);
    }

    /// Forgets a file.
    pub(super) fn remove(&mut self, path: &Path) {
        let records = self
            .files
            .remove(path)
            .and_then(|kept| kept.records)
            .unwrap_or_default();
        self.forget(path, &records);
    }

    fn forget(&mut self, path: &Path, records: &[String]) {
        for record in records {
            if self.records.get(record).is_some_and(|owner| owner == path) {
                self.records.remove(record);
            }
        }
    }

    /// Notes files that are known not to be read.
    pub(super) fn know_skipped(&mut self, skipped: &[Skipped]) {
        self.skipped
            .extend(skipped.iter().map(|skipped| skipped.source.clone()));
    }

    /// Those that nothing was said of yet.
    pub(super) fn new_skipped(&mut self, skipped: &[Skipped]) -> Vec<Skipped> {
        let new = skipped
            .iter()
            .filter(|skipped| self.skipped.insert(skipped.source.clone()));
        new.cloned().collect()
    }
}

#[cfg(test)]
mod tests;

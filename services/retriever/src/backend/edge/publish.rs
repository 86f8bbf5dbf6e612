//! Copies that take a collection's place.
//!
//! ```text
//! DATA_DIR/.copy-COLLECTION    being made; it stays when the process ends, and the copy goes on
//! DATA_DIR/.ready-COLLECTION   whole: one rename makes it so, and another puts it in its place
//! ```
//!
//! Readers wait for the second rename, and then look the collection up again. After a crash between the two, the second is
//! made when the store is opened.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::{Arc, PoisonError};

use super::Store;
use super::collection::{Collection, REMOVED};
use crate::backend::StoreError;

/// What the folder of a copy that is being made is called, before the name of its collection.
pub(super) const DRAFT: &str = ".copy-";
/// What the folder of a whole copy is called, before the name of its collection.
const READY: &str = ".ready-";

impl Store {
    /// Puts the copy `draft` in the place of the collection `name`, which is removed.
    pub(super) fn publish(&self, draft: &str, name: &str) -> Result<(), StoreError> {
        let copy = self.existing(draft)?;
        let ready = self.folder.join(format!("{READY}{name}"));
        // Decided from here on.
        copy.retire(&ready, || Ok(()))?;
        self.forget(&copy, draft);
        let place = self.folder.join(name);
        let put = || {
            let mut collections = self.collections.write().unwrap_or_else(PoisonError::into_inner);
            fs::rename(&ready, &place)?;
            File::open(&self.folder)?.sync_all()?;
            let published = Collection::new(name, place.clone(), Arc::clone(&self.usage));
            collections.insert(name.to_owned(), Arc::new(published));
            Ok(())
        };
        match self.known(name) {
            Some(before) => {
                let aside = self.folder.join(format!("{REMOVED}{name}"));
                before.retire(&aside, put)?;
                super::remove_folder(&aside);
                Ok(())
            }
            None => put().map_err(|source| StoreError::Storage {
                operation: "publish the copy",
                folder: self.folder.clone(),
                source: source.into(),
            }),
        }
    }
}

/// Puts copies in their places that were whole when the process ended.
pub(super) fn finish(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let ready = entry?.path();
        let name = ready.file_name().and_then(|name| name.to_str());
        let Some(name) = name.and_then(|name| name.strip_prefix(READY)) else {
            continue;
        };
        let (place, aside) = (folder.join(name), folder.join(format!("{REMOVED}{name}")));
        if place.exists() {
            move_aside(&place, &aside)?;
        }
        fs::rename(&ready, &place)?;
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Moves a folder, replacing what is there. There may be nothing to move.
pub(super) fn move_aside(from: &Path, to: &Path) -> io::Result<()> {
    let done = match fs::remove_dir_all(to) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => fs::rename(from, to),
    };
    match done {
        Err(error) if error.kind() != ErrorKind::NotFound || from.exists() => Err(error),
        _ => File::open(to.parent().unwrap_or(to))?.sync_all(),
    }
}

//! The catalog of a running service: read again when a file of its folder changes.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::{Duration, SystemTime},
};

use tokio_util::sync::CancellationToken;

use super::{Catalog, CatalogError, graph_files};

/// How often the folder is looked at. Files that Kubernetes mounts are swapped by a link, which no file watch follows.
const EVERY: Duration = Duration::from_secs(1);

/// The graphs in force, shared. A walk holds the graph it began with, so that a change never reaches it.
#[derive(Clone, Debug)]
pub struct LiveCatalog(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    folder: Option<PathBuf>,
    current: RwLock<Arc<Catalog>>,
    seen: Mutex<Fingerprint>,
}

/// Names, sizes and times of the folder's files; `None` for what cannot be read.
type Fingerprint = Option<Vec<(PathBuf, u64, Option<SystemTime>)>>;

impl LiveCatalog {
    /// The built-in graphs and those of the folder.
    ///
    /// # Errors
    /// [`CatalogError`] when a file is wrong: a service does not start with half of its graphs.
    pub fn load(folder: Option<&Path>) -> Result<LiveCatalog, CatalogError> {
        let seen = fingerprint(folder);
        let catalog = Catalog::load(folder)?;
        Ok(LiveCatalog(Arc::new(Shared {
            folder: folder.map(Path::to_owned),
            current: RwLock::new(Arc::new(catalog)),
            seen: Mutex::new(seen),
        })))
    }

    /// The graphs in force now.
    pub fn current(&self) -> Arc<Catalog> {
        Arc::clone(&self.0.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the folder again if it changed. A file that is wrong leaves all graphs as they were.
    ///
    /// # Errors
    /// [`CatalogError`]: what is wrong now.
    pub fn refresh(&self) -> Result<bool, CatalogError> {
        let now = fingerprint(self.0.folder.as_deref());
        let mut seen = self.0.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == now {
            return Ok(false);
        }
        *seen = now;
        let catalog = Arc::new(Catalog::load(self.0.folder.as_deref())?);
        *self.0.current.write().unwrap_or_else(PoisonError::into_inner) = catalog;
        Ok(true)
    }

    /// Looks at the folder again and again until `stop` is cancelled; returns at once without a folder.
    pub async fn watch(self, stop: CancellationToken) {
        if self.0.folder.is_none() {
            return;
        }
        while stop.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
            let catalog = self.clone();
            match tokio::task::spawn_blocking(move || catalog.refresh()).await {
                Ok(Ok(true)) => tracing::info!(graphs = self.current().iter().count(), "graphs were read again"),
                Ok(Ok(false)) => {}
                Ok(Err(error)) => tracing::error!(%error, "the graphs stay as they were"),
                Err(error) => tracing::error!(%error, "reading the graphs failed inside"),
            }
        }
    }
}

fn fingerprint(folder: Option<&Path>) -> Fingerprint {
    let files = graph_files(folder?).ok()?;
    let of = |path: PathBuf| {
        let metadata = fs::metadata(&path).ok();
        let size = metadata.as_ref().map_or(0, fs::Metadata::len);
        let modified = metadata.and_then(|metadata| metadata.modified().ok());
        (path, size, modified)
    };
    Some(files.into_iter().map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::{super::BUILT_IN, *};

    #[test]
    fn a_changed_file_is_read_again_and_a_wrong_one_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.yaml");
        let yaml = BUILT_IN[0].1;
        fs::write(&file, yaml).unwrap();
        let live = LiveCatalog::load(Some(folder.path())).unwrap();
        let default = |live: &LiveCatalog| live.current().get("plain-rag").unwrap().options()[0].default;
        assert!(!live.refresh().unwrap());
        assert_eq!(default(&live), Some(4.0));

        let before = live.current();
        fs::write(&file, yaml.replace("default: 4", "default: 17")).unwrap();
        assert!(live.refresh().unwrap());
        assert_eq!(default(&live), Some(17.0));
        // Whoever holds a graph keeps it.
        assert_eq!(before.get("plain-rag").unwrap().options()[0].default, Some(4.0));

        fs::write(&file, "name: plain-rag").unwrap();
        assert!(live.refresh().is_err());
        assert_eq!(default(&live), Some(17.0));
        assert!(!live.refresh().unwrap(), "one change is reported once");

        fs::remove_file(&file).unwrap();
        assert!(live.refresh().unwrap());
        assert_eq!(default(&live), Some(4.0));
    }
}

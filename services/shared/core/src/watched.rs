//! A value that is made from files and made again when they change, for as long as somebody holds it.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;

/// How often the files are looked at. Files that Kubernetes mounts are swapped by a link, which no file watch follows.
const INTERVAL: Duration = Duration::from_secs(1);

/// Where a [`Watched`] value comes from.
pub trait Source: Send + Sync + 'static {
    /// What is made of the files.
    type Value: Send + Sync + 'static;
    /// What can be wrong with them.
    type Error: std::error::Error + Send + 'static;
    /// What the log calls the value, for example `graphs`.
    const NAME: &'static str;

    /// The files as they are now; a change of name, size or time of any is a change.
    fn files(&self) -> Vec<PathBuf>;

    /// Makes the value.
    ///
    /// # Errors
    /// What is wrong with the files.
    fn read(&self) -> Result<Self::Value, Self::Error>;
}

/// A value that is read again when its files change. Whoever took [`Watched::current`] keeps what it took.
#[derive(Debug)]
pub struct Watched<S: Source> {
    current: ArcSwap<S::Value>,
    source: Option<S>,
    seen: Mutex<Fingerprint>,
}

/// Name, size and time of each file; size 0 and no time for one that cannot be read.
type Fingerprint = Vec<(PathBuf, u64, Option<SystemTime>)>;

impl<S: Source> Watched<S> {
    /// A value that stays as it is.
    pub fn fixed(value: S::Value) -> Arc<Self> {
        Arc::new(Self {
            current: ArcSwap::from_pointee(value),
            source: None,
            seen: Mutex::default(),
        })
    }

    /// Reads the value. Inside a tokio runtime its files are looked at once a second for as long as somebody holds it.
    ///
    /// # Errors
    /// As [`Source::read`].
    pub fn read(source: S) -> Result<Arc<Self>, S::Error> {
        let seen = fingerprint(&source);
        let watched = Arc::new(Self {
            current: ArcSwap::from_pointee(source.read()?),
            source: Some(source),
            seen: Mutex::new(seen),
        });
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(watch(Arc::downgrade(&watched)));
        }
        Ok(watched)
    }

    /// The value in force now.
    pub fn current(&self) -> Arc<S::Value> {
        self.current.load_full()
    }

    /// Reads the value again if its files changed; says whether they did. Files that are wrong leave it as it was.
    ///
    /// # Errors
    /// As [`Source::read`]; each change is reported once.
    pub fn refresh(&self) -> Result<bool, S::Error> {
        let Some(source) = &self.source else { return Ok(false) };
        let now = fingerprint(source);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == now {
            return Ok(false);
        }
        *seen = now;
        self.current.store(Arc::new(source.read()?));
        Ok(true)
    }
}

async fn watch<S: Source>(watched: Weak<Watched<S>>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let Some(watched) = watched.upgrade() else { return };
        match tokio::task::spawn_blocking(move || watched.refresh()).await {
            Ok(Ok(true)) => tracing::info!(what = S::NAME, "files changed and were read again"),
            Ok(Ok(false)) => {}
            Ok(Err(error)) => {
                let error = crate::error_chain(&error);
                tracing::error!(
                    what = S::NAME,
                    error,
                    "changed files are wrong: everything stays as it was"
                );
            }
            Err(error) => tracing::error!(what = S::NAME, %error, "reading changed files panicked"),
        }
    }
}

fn fingerprint(source: &impl Source) -> Fingerprint {
    let of = |path: PathBuf| {
        let metadata = fs::metadata(&path).ok();
        let size = metadata.as_ref().map_or(0, fs::Metadata::len);
        let modified = metadata.and_then(|metadata| metadata.modified().ok());
        (path, size, modified)
    };
    source.files().into_iter().map(of).collect()
}

#[cfg(test)]
mod tests;

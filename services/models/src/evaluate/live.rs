//! The coefficients of a running evaluator: read again when their file changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, SystemTime};

use super::{Coefficients, EvaluateError};

/// How often the file is looked at. Files that Kubernetes mounts are swapped by a link, which no file watch follows.
const EVERY: Duration = Duration::from_secs(1);

/// The coefficients in force, shared. A judgement holds those it began with.
#[derive(Debug)]
pub(super) struct Live {
    current: RwLock<Arc<Coefficients>>,
    file: Option<PathBuf>,
    seen: Mutex<Fingerprint>,
}

/// Size and time of the file; `None` where it cannot be read.
type Fingerprint = Option<(u64, Option<SystemTime>)>;

impl Live {
    /// Coefficients that stay as they are.
    pub(super) fn fixed(coefficients: Coefficients) -> Arc<Self> {
        Self::of(coefficients, None, None)
    }

    /// The coefficients of a file, looked at once a second for as long as somebody holds them, where there is a runtime
    /// to do so.
    ///
    /// # Errors
    /// As [`Coefficients::read`].
    pub(super) fn read(path: &Path) -> Result<Arc<Self>, EvaluateError> {
        let seen = fingerprint(path);
        let live = Self::of(Coefficients::read(path)?, Some(path.to_owned()), seen);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(watch(Arc::downgrade(&live)));
        }
        Ok(live)
    }

    fn of(coefficients: Coefficients, file: Option<PathBuf>, seen: Fingerprint) -> Arc<Self> {
        Arc::new(Self {
            current: RwLock::new(Arc::new(coefficients)),
            file,
            seen: Mutex::new(seen),
        })
    }

    /// Those in force now.
    pub(super) fn current(&self) -> Arc<Coefficients> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the file again if it changed. One that is wrong leaves everything as it was.
    ///
    /// # Errors
    /// As [`Coefficients::read`]; each change is reported once.
    pub(super) fn refresh(&self) -> Result<bool, EvaluateError> {
        let Some(path) = &self.file else { return Ok(false) };
        let now = fingerprint(path);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == now {
            return Ok(false);
        }
        *seen = now;
        let coefficients = Arc::new(Coefficients::read(path)?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = coefficients;
        Ok(true)
    }
}

async fn watch(live: Weak<Live>) {
    loop {
        tokio::time::sleep(EVERY).await;
        let Some(live) = live.upgrade() else { return };
        match tokio::task::spawn_blocking(move || live.refresh()).await {
            Ok(Ok(true)) => tracing::info!("the evaluator's coefficients were read again"),
            Ok(Ok(false)) => {}
            Ok(Err(error)) => tracing::error!(%error, "the evaluator's coefficients stay as they were"),
            Err(error) => tracing::error!(%error, "reading the evaluator's coefficients failed inside"),
        }
    }
}

fn fingerprint(path: &Path) -> Fingerprint {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_read_again_and_a_wrong_one_changes_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let source = Coefficients::builtin("lexical").unwrap().to_toml("");
        let useful = |live: &Live| live.current().thresholds().useful;
        let write = |useful: &str| {
            let lines = source.lines().map(|line| match line.starts_with("useful") {
                true => format!("useful = {useful}"),
                false => line.to_owned(),
            });
            fs::write(file.path(), lines.collect::<Vec<_>>().join("\n")).unwrap();
        };
        write("0.5");
        let live = Live::read(file.path()).unwrap();
        assert!(!live.refresh().unwrap());
        let before = live.current();
        write("0.625");
        assert!(live.refresh().unwrap());
        assert_eq!((useful(&live), before.thresholds().useful), (0.625, 0.5));
        write("much");
        assert!(live.refresh().unwrap_err().to_string().contains("useful"));
        assert_eq!(useful(&live), 0.625);
        assert!(!live.refresh().unwrap(), "one change is reported once");
        assert!(
            !Live::fixed(Coefficients::builtin("lexical").unwrap())
                .refresh()
                .unwrap()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_has_to_ask() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let source = Coefficients::builtin("lexical").unwrap().to_toml("");
        fs::write(file.path(), &source).unwrap();
        let live = Live::read(file.path()).unwrap();
        fs::write(
            file.path(),
            format!("{source}\n# longer\n").replace("strip = 0.", "strip = 0.0"),
        )
        .unwrap();
        let before = live.current().thresholds().strip;
        for _ in 0..100 {
            tokio::time::sleep(EVERY).await;
        }
        assert!(live.current().thresholds().strip < before);
    }
}

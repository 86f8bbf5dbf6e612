//! The lock of a data folder, and where its holder is reached.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

/// Most bytes of a lock file that are read.
const MAX_BYTES: u64 = 1024;

/// Where the process is reached that uses a folder, as far as it says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// The URL of its orchestrator.
    pub orchestrator: Option<String>,
    /// The URL of its retriever.
    pub retriever: Option<String>,
}

/// What to do instead of stopping it.
impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ask = self.orchestrator.iter().map(|url| format!("--url {url} to ask it"));
        let read = self
            .retriever
            .iter()
            .map(|url| format!("--url {url} for its documents"));
        let ways: Vec<String> = ask.chain(read).collect();
        if ways.is_empty() {
            return Ok(());
        }
        write!(formatter, "give {}, ", ways.join(" or "))
    }
}

/// A lock that is held. Closing the file releases it, even by a crash.
pub(super) struct Lock(File);

impl Lock {
    /// Takes the lock, or says who has it.
    pub(super) fn take(path: &Path) -> io::Result<Result<Self, Holder>> {
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => {
                // What the last holder said.
                file.set_len(0)?;
                Ok(Ok(Self(file)))
            }
            Err(TryLockError::WouldBlock) => Ok(Err(holder(&mut file))),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    pub(super) fn announce(&mut self, holder: &Holder) -> io::Result<()> {
        let line = |name: &str, url: &Option<String>| url.as_ref().map(|url| format!("{name} {url}\n"));
        let lines = [
            line("orchestrator", &holder.orchestrator),
            line("retriever", &holder.retriever),
        ];
        self.0.set_len(0)?;
        self.0.rewind()?;
        self.0
            .write_all(lines.into_iter().flatten().collect::<String>().as_bytes())
    }
}

fn holder(file: &mut File) -> Holder {
    let mut text = String::new();
    // Some systems let nobody read a file that is locked.
    if file.take(MAX_BYTES).read_to_string(&mut text).is_err() {
        return Holder::default();
    }
    let url = |name: &str| {
        let url = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        let is_url = url.starts_with("http") && url.chars().all(|c| c.is_ascii_graphic());
        is_url.then(|| url.to_owned())
    };
    Holder {
        orchestrator: url("orchestrator"),
        retriever: url("retriever"),
    }
}

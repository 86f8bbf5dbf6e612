//! Secrets: values that are never logged or printed.
//!
//! They come from a file or from the environment, never from the command line: the arguments of a process are there for
//! everybody on the machine to read.

use std::fmt;
use std::io::{self, Read as _};
use std::path::Path;

/// Most bytes of a file of secrets.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// An API key or a password. `Debug` redacts it, and it has no `Display`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    /// Returns the secret, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The secret of a file: all of it, without white space at its ends.
    ///
    /// # Errors
    /// The file cannot be read, is no text or empty, or has more than 64 KiB.
    pub fn read(path: &Path) -> io::Result<Self> {
        let secret = Self::from(read(path)?.trim().to_owned());
        if secret.0.is_empty() {
            return Err(io::Error::other("the file is empty"));
        }
        Ok(secret)
    }

    /// The secrets of a file, one a line.
    ///
    /// # Errors
    /// The file cannot be read, is no text, or has more than 64 KiB.
    pub fn read_lines(path: &Path) -> io::Result<Vec<Self>> {
        let text = read(path)?;
        Ok(text.lines().map(|line| Self::from(line.trim().to_owned())).collect())
    }

    /// The secret of an environment variable, if it is set and not empty.
    pub fn from_environment(name: &str) -> Option<Self> {
        let secret = std::env::var(name).ok()?.trim().to_owned();
        (!secret.is_empty()).then_some(Self(secret))
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?
        .take(MAX_FILE_BYTES + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other(format!(
            "a file of secrets has at most {MAX_FILE_BYTES} bytes"
        )));
    }
    Ok(text)
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl From<String> for Secret {
    fn from(secret: String) -> Self {
        Self(secret)
    }
}

#[cfg(test)]
mod tests;

//! Values that are not shown.

use std::path::Path;
use std::{env, fmt, fs, io};

/// An API key or a password. `Debug` redacts it, and it has no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Holds `text`, without white space around it. `None` if nothing is left.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// Reads a secret from `file`, or else from the environment `variable`. Never from the command line, which other users
    /// of the machine can read.
    ///
    /// # Errors
    /// The file cannot be read, or holds nothing.
    pub fn from_file_or_env(file: Option<&Path>, variable: &str) -> io::Result<Option<Self>> {
        let Some(file) = file else {
            return Ok(env::var(variable).ok().as_deref().and_then(Self::new));
        };
        let found = Self::new(&fs::read_to_string(file)?);
        found
            .map(Some)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it is empty"))
    }

    /// The secret itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

#[cfg(test)]
mod tests;

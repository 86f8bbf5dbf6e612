//! API keys: where they come from, and that they are shown nowhere.
//!
//! A key comes from a file or from the environment, never from the command line: the arguments of a process are there for
//! everybody on the machine to read.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Read as _};
use std::path::Path;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;

/// Most bytes of a file of keys.
const MAX_KEY_FILE: u64 = 64 << 10;

/// An API key. `Debug` redacts it, and it has no `Display`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ApiKey(String);

impl ApiKey {
    /// Returns the secret, for the authorization header only.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The key of a file: all of it, without white space at its ends.
    ///
    /// # Errors
    /// The file cannot be read, is no text or empty, or has more than 64 KiB.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let key = Self::from(read(path)?.trim().to_owned());
        if key.0.is_empty() {
            return Err(io::Error::other("the file is empty"));
        }
        Ok(key)
    }

    /// The keys of a file, one a line.
    ///
    /// # Errors
    /// The file cannot be read, is no text, or has more than 64 KiB.
    pub(crate) fn read_lines(path: &Path) -> io::Result<Vec<Self>> {
        Ok(read(path)?
            .lines()
            .map(|line| Self::from(line.trim().to_owned()))
            .collect())
    }

    /// The key of an environment variable, if it is set and not empty.
    pub(crate) fn from_environment(name: &str) -> Option<Self> {
        let key = std::env::var(name).ok()?.trim().to_owned();
        (!key.is_empty()).then_some(Self(key))
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?
        .take(MAX_KEY_FILE + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > MAX_KEY_FILE {
        return Err(io::Error::other(format!(
            "a file of keys has at most {MAX_KEY_FILE} bytes"
        )));
    }
    Ok(text)
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(***)")
    }
}

impl From<String> for ApiKey {
    fn from(secret: String) -> Self {
        Self(secret)
    }
}

/// Refuses a key on the command line and says what to use, without repeating the key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoKeyHere(pub(crate) &'static str);

impl TypedValueParser for NoKeyHere {
    type Value = Infallible;

    fn parse_ref(
        &self,
        _: &clap::Command,
        argument: Option<&clap::Arg>,
        _: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let flag = argument.and_then(clap::Arg::get_long).unwrap_or_default();
        let message = format!(
            "--{flag} is no option any more: everybody on this machine can read the arguments of a process; {}\n",
            self.0
        );
        Err(clap::Error::raw(ErrorKind::InvalidValue, message))
    }
}

#[cfg(test)]
mod tests;

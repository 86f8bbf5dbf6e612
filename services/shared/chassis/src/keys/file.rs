//! The file of keys: TOML, a table for each.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use emend_core::{cut, did_you_mean};
use serde::{Deserialize, Serialize};

use super::meter::Rate;
use super::pattern::Pattern;
use super::{Key, KeyDigest, Permission};
use crate::config::problem_of;

/// Most keys of a file: each is compared with what every caller shows.
pub const MAX_KEYS: usize = 1000;
/// Most bytes of the file.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Most patterns of a key, of collections and of graphs each.
const MAX_PATTERNS: usize = 100;
/// Longest name of a key, in characters.
const MAX_NAME_CHARS: usize = 64;
/// What stands at the top of the file.
const HEADER: &str =
    "# API keys of Emend: what each may do, and the SHA-256 digest of it. Written by `emend keys`.\n\n";

/// What is wrong with keys or with the file that has them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// The file cannot be read.
    #[error("cannot read the API keys of {}: make the file with `emend keys add`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write the API keys to {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It is no file of keys.
    #[error("the API keys of {}: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        problem: String,
    },
    /// A key of this name is there already.
    #[error("there is a key \"{}\" already: remove it first, or take another name", cut(name))]
    Taken {
        /// The name.
        name: String,
    },
    /// There is no key of this name.
    #[error("there is no key \"{}\"{hint}", cut(name))]
    Unknown {
        /// The name.
        name: String,
        /// The names that there are.
        hint: String,
    },
    /// A name that no key can have.
    #[error(
        "\"{}\" is no name for a key: take 1 to {MAX_NAME_CHARS} letters, digits, `-`, `_` and `.`, as it stands in logs \
         and metrics",
        cut(name)
    )]
    Name {
        /// The name.
        name: String,
    },
    /// There is no room for another key, or for another name in a key.
    #[error("a file has at most {MAX_KEYS} keys, and a key names at most {MAX_PATTERNS} collections and graphs each")]
    TooMany,
    /// The operating system has no random bytes.
    #[error("the operating system gives no random bytes")]
    Random,
}

/// The keys of a file, by name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeysFile {
    /// What each key may do.
    #[serde(default)]
    pub keys: BTreeMap<String, KeyEntry>,
}

/// What a key may do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyEntry {
    /// The SHA-256 digest of the key in hexadecimal digits.
    pub sha256: String,
    /// What it may do.
    pub allow: Vec<Permission>,
    /// The collections that it may use.
    pub collections: Vec<Pattern>,
    /// The graphs that it may walk.
    pub graphs: Vec<Pattern>,
    /// Most calls in a time; unlimited if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Most calls of models in a day (UTC); unlimited if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_calls_per_day: Option<u64>,
    /// Most tokens in a day (UTC), read and written; unlimited if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<u64>,
}

impl KeysFile {
    /// The keys of a file.
    ///
    /// # Errors
    /// [`KeysError::Read`] and [`KeysError::Content`].
    pub fn read(path: &Path) -> Result<Self, KeysError> {
        let failed = |source| KeysError::Read {
            path: path.to_owned(),
            source,
        };
        let mut text = String::new();
        let file = emend_core::open_regular(path).map_err(failed)?;
        file.take(MAX_FILE_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(failed)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(failed(io::Error::other(format!(
                "it has more than {MAX_FILE_BYTES} bytes"
            ))));
        }
        toml::from_str(&text).map_err(|error| KeysError::Content {
            path: path.to_owned(),
            problem: problem_of(&text, &error),
        })
    }

    /// The keys of a file, none where there is no file.
    ///
    /// # Errors
    /// As [`KeysFile::read`].
    pub fn read_or_new(path: &Path) -> Result<Self, KeysError> {
        match Self::read(path) {
            Err(KeysError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            read => read,
        }
    }

    /// Adds a key.
    ///
    /// # Errors
    /// [`KeysError::Name`], [`KeysError::Taken`] and [`KeysError::TooMany`].
    pub fn add(&mut self, name: &str, entry: KeyEntry) -> Result<(), KeysError> {
        check_name(name)?;
        if self.keys.contains_key(name) {
            return Err(KeysError::Taken { name: name.to_owned() });
        }
        if self.keys.len() >= MAX_KEYS || entry.collections.len() > MAX_PATTERNS || entry.graphs.len() > MAX_PATTERNS {
            return Err(KeysError::TooMany);
        }
        self.keys.insert(name.to_owned(), entry);
        Ok(())
    }

    /// Removes a key.
    ///
    /// # Errors
    /// [`KeysError::Unknown`] with the names that there are.
    pub fn remove(&mut self, name: &str) -> Result<(), KeysError> {
        if self.keys.remove(name).is_some() {
            return Ok(());
        }
        Err(KeysError::Unknown {
            name: name.to_owned(),
            hint: did_you_mean(name, self.keys.keys().map(String::as_str)),
        })
    }

    /// Writes the file anew, so that who reads it meanwhile sees the old one or the new one. Only its owner may read it.
    ///
    /// # Errors
    /// [`KeysError::Write`].
    pub fn write(&self, path: &Path) -> Result<(), KeysError> {
        let failed = |source| KeysError::Write {
            path: path.to_owned(),
            source,
        };
        let text = toml::to_string(self).map_err(|error| failed(io::Error::other(error)))?;
        let mut beside = path.as_os_str().to_owned();
        beside.push(".new");
        let beside = PathBuf::from(beside);
        let mut options = fs::OpenOptions::new();
        // Never into a file, or through a link, that somebody else put there.
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // What a process left that was ended while it wrote.
        drop(fs::remove_file(&beside));
        let written = options.open(&beside).and_then(|mut file| {
            file.write_all(HEADER.as_bytes())?;
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.and_then(|()| fs::rename(&beside, path)).map_err(failed)
    }

    /// The keys, ready to be compared.
    pub(super) fn keys(self, path: &Path) -> Result<Vec<Key>, KeysError> {
        let wrong = |problem: String| KeysError::Content {
            path: path.to_owned(),
            problem,
        };
        if self.keys.len() > MAX_KEYS {
            return Err(wrong(KeysError::TooMany.to_string()));
        }
        let mut names = HashMap::new();
        for (name, entry) in &self.keys {
            if let Some(other) = names.insert(entry.sha256.to_ascii_lowercase(), name) {
                return Err(wrong(format!(
                    "keys.{} and keys.{} have the same sha256: nobody could say which of them may do what; remove one",
                    cut(other),
                    cut(name)
                )));
            }
        }
        let key = |(name, entry): (String, KeyEntry)| {
            check_name(&name).map_err(|error| wrong(error.to_string()))?;
            if entry.collections.len() > MAX_PATTERNS || entry.graphs.len() > MAX_PATTERNS {
                return Err(wrong(format!("keys.{name}: {}", KeysError::TooMany)));
            }
            let digest = unhex(&entry.sha256).ok_or_else(|| {
                wrong(format!(
                    "keys.{name}.sha256 is no SHA-256 digest: it has 64 hexadecimal digits; make the key with `emend keys \
                     add`"
                ))
            })?;
            Ok(Key {
                name,
                digest,
                allow: entry.allow,
                collections: entry.collections,
                graphs: entry.graphs,
                rate: entry.rate,
                model_calls: entry.model_calls_per_day,
                tokens: entry.tokens_per_day,
            })
        };
        self.keys.into_iter().map(key).collect()
    }
}

fn check_name(name: &str) -> Result<(), KeysError> {
    let known = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.chars().all(known) {
        return Err(KeysError::Name { name: name.to_owned() });
    }
    Ok(())
}

pub(super) fn hex(digest: &KeyDigest) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<KeyDigest> {
    let digits: Vec<u8> = text
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
        .collect();
    if digits.len() == 64 {
        bytes.try_into().ok()
    } else {
        None
    }
}

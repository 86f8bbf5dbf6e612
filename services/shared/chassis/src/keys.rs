//! API keys: who calls, and what they may do.
//!
//! A key is 256 random bits. Its file has the SHA-256 digest of it and nothing from which it could be made again. A slow
//! password hash would add nothing: it makes guessing likely secrets expensive, and among 2²⁵⁶ equally likely ones there is
//! none to guess; but every call would pay for it.
//!
//! A server computes the digest of what a caller shows and compares it with every key of the file, to the end, each in
//! constant time: how long that takes says nothing of how near a guess was.

mod file;
mod identity;
mod meter;
mod pattern;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use clap::ValueEnum as _;
use emend_core::{Reason, Secret, Source, Watched};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use sha2::{Digest as _, Sha256};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};
use tonic::Status;

use crate::config::ServiceOptions;
use crate::status::refusal;

pub use file::{KeyEntry, KeysError, KeysFile, MAX_KEYS};
pub use identity::{Denied, Identity};
pub use meter::{OverBudget, Rate, Resource, Spent};
pub use pattern::Pattern;

use meter::Meter;

/// What every key begins with, so that those who search for secrets know one.
const PREFIX: &str = "emend_";
/// Random bytes of a key.
const KEY_BYTES: usize = 32;
/// The name of a program's own key. No key of a file can have it, and so none shares what it has used.
const OWN_NAME: &str = "emend itself";
/// Most bytes of what a caller shows that are looked at.
const MAX_SHOWN_BYTES: usize = 256;

/// The SHA-256 digest of a key.
pub(crate) type KeyDigest = [u8; 32];

/// What a key allows its holder to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Permission {
    /// Ask questions, search passages, read about graphs and collections
    Ask,
    /// Store, list and remove documents
    Ingest,
    /// Everything else that a service offers: remove collections, snapshots
    Admin,
    /// Bring a graph of one's own with a question
    GraphYaml,
}

impl Permission {
    /// Its name in a file of keys.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Ingest => "ingest",
            Self::Admin => "admin",
            Self::GraphYaml => "graph-yaml",
        }
    }
}

/// Makes a key and its digest, as a file of keys has it.
///
/// # Errors
/// The operating system has no random bytes.
pub fn new_key() -> Result<(Secret, String), KeysError> {
    let mut bytes = [0; KEY_BYTES];
    let provider = rustls::crypto::ring::default_provider();
    provider.secure_random.fill(&mut bytes).map_err(|_| KeysError::Random)?;
    let key = format!("{PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(bytes));
    let digest = file::hex(&digest(&key));
    Ok((Secret::from(key), digest))
}

fn digest(key: &str) -> KeyDigest {
    Sha256::digest(key.as_bytes()).into()
}

/// One key, ready to be compared and asked.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) digest: KeyDigest,
    pub(crate) allow: Vec<Permission>,
    pub(crate) collections: Vec<Pattern>,
    pub(crate) graphs: Vec<Pattern>,
    pub(crate) rate: Option<Rate>,
    pub(crate) model_calls: Option<u64>,
    pub(crate) tokens: Option<u64>,
}

impl Key {
    /// A key for everything, of the program itself.
    fn own(key: &Secret) -> Self {
        Self {
            name: OWN_NAME.to_owned(),
            digest: digest(key.reveal()),
            allow: Permission::value_variants().to_vec(),
            collections: vec![Pattern::all()],
            graphs: vec![Pattern::all()],
            rate: None,
            model_calls: None,
            tokens: None,
        }
    }
}

/// The keys of a server, with the file in force now. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Keys {
    keys: Arc<Watched<Files>>,
    meters: Arc<Mutex<HashMap<String, Arc<Meter>>>>,
}

impl Keys {
    /// Reads the file of keys, and again when it changes: a key that was added is known, and one that was removed is not,
    /// within a second. A changed file that is wrong is logged and changes nothing. `None` where the options name no file.
    ///
    /// # Errors
    /// [`KeysError`] with the file and what is wrong.
    pub fn load(options: &ServiceOptions) -> Result<Option<Self>, KeysError> {
        let Some(path) = &options.keys_file else {
            return Ok(None);
        };
        let source = Files {
            path: path.clone(),
            own: options.own_key.clone(),
        };
        Ok(Some(Self {
            keys: Watched::read(source)?,
            meters: Arc::default(),
        }))
    }

    /// Who shows this key; `None` for a key that is none.
    pub fn identify(&self, shown: &str) -> Option<Identity> {
        if shown.len() > MAX_SHOWN_BYTES {
            return None;
        }
        let digest = digest(shown);
        let keys = self.keys.current();
        // Neither the first match nor its place ends the search.
        let mut found = u32::MAX;
        for (place, key) in (0_u32..).zip(keys.iter()) {
            found.conditional_assign(&place, key.digest.ct_eq(&digest));
        }
        let key = Arc::clone(keys.get(usize::try_from(found).ok()?)?);
        let meter = self.meter(&key);
        Some(Identity::new(key, meter))
    }

    /// Who shows a key in these headers: `authorization: Bearer KEY`.
    ///
    /// # Errors
    /// UNAUTHENTICATED where there is no key, or none that is known.
    pub fn authenticate(&self, headers: &HeaderMap) -> Result<Identity, Status> {
        let shown = headers.get(AUTHORIZATION);
        let Some(key) = shown.and_then(|value| bearer(value.as_bytes())) else {
            return Err(unauthenticated(
                Reason::KeyMissing,
                match shown {
                    None => "there is no API key",
                    Some(_) => "what `authorization` has is no API key",
                },
            ));
        };
        self.identify(key)
            .ok_or_else(|| unauthenticated(Reason::KeyUnknown, "the API key is not known here"))
    }

    /// What a key has used, which outlives a change of the file.
    fn meter(&self, key: &Key) -> Arc<Meter> {
        let mut meters = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        let meter = meters.entry(key.name.clone()).or_insert_with(|| Meter::new(key.rate));
        if meter.rate() != key.rate {
            *meter = meter.with_rate(key.rate);
        }
        Arc::clone(meter)
    }

    /// Reads the file again if it changed.
    #[cfg(test)]
    pub(crate) fn refresh(&self) -> Result<bool, KeysError> {
        self.keys.refresh()
    }
}

/// The key of `Bearer KEY`, whose scheme has no case (RFC 9110, section 11.1).
fn bearer(value: &[u8]) -> Option<&str> {
    let (scheme, key) = std::str::from_utf8(value).ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(key.trim())
}

fn unauthenticated(reason: Reason, problem: &str) -> Status {
    let message = format!(
        "{problem}: send one that `emend keys add` made as `authorization: Bearer KEY` (emend: EMEND_API_KEY or \
         --api-key-file)"
    );
    refusal(reason, message)
}

#[derive(Debug)]
struct Files {
    path: PathBuf,
    own: Option<Secret>,
}

impl Source for Files {
    type Value = Vec<Arc<Key>>;
    type Error = KeysError;
    const NAME: &'static str = "API keys";

    fn files(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn read(&self) -> Result<Vec<Arc<Key>>, KeysError> {
        let keys = KeysFile::read(&self.path)?.keys(&self.path)?;
        let own = self.own.as_ref().map(Key::own);
        Ok(keys.into_iter().chain(own).map(Arc::new).collect())
    }
}

#[cfg(test)]
mod tests;

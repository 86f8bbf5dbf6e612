//! The API key with which a client says who it is.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use emend_core::{Secret, Source, Watched};
use http::HeaderValue;

/// An API key, sent as `authorization: Bearer …` with every call that has none of its own. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ApiKey(Arc<Watched<KeyFile>>);

/// Why there is no API key to send.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApiKeyError {
    /// The file cannot be read, or is empty.
    #[error("cannot read the API key of {}: write the key that `emend keys add` printed into it", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It has characters that no key has. It is not shown.
    #[error("the API key of {from} has characters that no key has: give the one line that `emend keys add` printed")]
    Characters {
        /// The file, or the name of the variable.
        from: String,
    },
}

impl ApiKey {
    /// The key of a file, which is read again when it changes, else that of an environment variable, if there is one.
    ///
    /// # Errors
    /// [`ApiKeyError`].
    pub fn find(file: Option<&Path>, variable: &str) -> Result<Option<Self>, ApiKeyError> {
        match (file, Secret::from_environment(variable)) {
            (Some(path), _) => Ok(Some(Self(Watched::read(KeyFile(path.to_owned()))?))),
            (None, Some(secret)) => Ok(Some(Self(Watched::fixed(header(&secret, || variable.to_owned())?)))),
            (None, None) => Ok(None),
        }
    }

    /// A key that stays as it is.
    ///
    /// # Errors
    /// [`ApiKeyError::Characters`].
    pub fn fixed(secret: &Secret) -> Result<Self, ApiKeyError> {
        Ok(Self(Watched::fixed(header(secret, || "the caller".to_owned())?)))
    }

    /// The value of the header, which no `Debug` shows and HTTP/2 remembers nowhere.
    pub(super) fn header(&self) -> HeaderValue {
        (*self.0.current()).clone()
    }
}

fn header(secret: &Secret, from: impl Fn() -> String) -> Result<HeaderValue, ApiKeyError> {
    let key = secret.reveal();
    let wrong = || ApiKeyError::Characters { from: from() };
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong());
    }
    let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| wrong())?;
    value.set_sensitive(true);
    Ok(value)
}

#[derive(Debug)]
struct KeyFile(PathBuf);

impl Source for KeyFile {
    type Value = HeaderValue;
    type Error = ApiKeyError;
    const NAME: &'static str = "API key of the client";

    fn files(&self) -> Vec<PathBuf> {
        vec![self.0.clone()]
    }

    fn read(&self) -> Result<HeaderValue, ApiKeyError> {
        let secret = Secret::read(&self.0).map_err(|source| ApiKeyError::Read {
            path: self.0.clone(),
            source,
        })?;
        header(&secret, || self.0.display().to_string())
    }
}

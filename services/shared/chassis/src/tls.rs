//! TLS by rustls with its ring provider: certificates, keys and authorities from PEM files, read again when they change.

mod client;
mod explain;
mod server;
mod validity;
mod wire;

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

pub use client::{ClientTls, ClientTlsOptions};
pub(crate) use explain::{explain, is_alert};
pub use server::{ServerTls, ServerTlsOptions};
pub use validity::{Renewal, Validity};
pub use wire::{Greeter, Wire};

/// Most bytes of a file of certificates or of a key.
const MAX_PEM_BYTES: u64 = 1 << 20;
/// The application protocol of gRPC (RFC 7301).
const H2: &[u8] = b"h2";

/// What is wrong with the files of certificates and keys.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{option} {}: cannot read it", path.display())]
    Read {
        /// The option that names it.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A file has no PEM of the wanted kind, or broken PEM.
    #[error("{option} {}: {problem}", path.display())]
    Pem {
        /// The option that names it.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// Two options that only make sense together.
    #[error("{given} needs {missing} beside it")]
    Alone {
        /// The option that is there.
        given: &'static str,
        /// The one that is not.
        missing: &'static str,
    },
    /// Certificate and key do not go together, or are of a kind that is not supported.
    #[error("{option} {}: {}", path.display(), unusable(source))]
    Unusable {
        /// The option of the certificate.
        option: &'static str,
        /// The file of the certificate.
        path: PathBuf,
        /// What rustls says.
        #[source]
        source: rustls::Error,
    },
    /// The operating system names no authority that could be trusted.
    #[error(
        "the operating system has no certificates of authorities: give the authority of the servers with --ca, or install \
         the package ca-certificates"
    )]
    NoRoots(#[source] rustls::Error),
    /// Something else that rustls refuses.
    #[error("TLS cannot be set up")]
    Setup(#[source] rustls::Error),
}

fn unusable(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InconsistentKeys(_) => "the private key is not that of the certificate: give both of one pair",
        _ => "certificate and key cannot be used",
    }
}

/// A certificate with its chain, and its key.
type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn read(option: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    let failed = |source| TlsError::Read {
        option,
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    let file = emend_core::open_regular(path).map_err(failed)?;
    file.take(MAX_PEM_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_PEM_BYTES {
        return Err(TlsError::Pem {
            option,
            path: path.to_owned(),
            problem: format!("it has more than {MAX_PEM_BYTES} bytes, the limit for certificates and keys"),
        });
    }
    Ok(bytes)
}

/// The certificates of a file, at least one.
fn certificates(option: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let wrong = |problem: String| TlsError::Pem {
        option,
        path: path.to_owned(),
        problem,
    };
    let pem = read(option, path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let found = found.map_err(|error| wrong(format!("it is no valid PEM ({error}): give a file of certificates")))?;
    if found.is_empty() {
        return Err(wrong(
            "it has no certificate: give a PEM file with BEGIN CERTIFICATE".to_owned(),
        ));
    }
    Ok(found)
}

/// The private key of a file. What is wrong with one is said without a byte of it.
fn private_key(option: &'static str, path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let pem = read(option, path)?;
    PrivateKeyDer::from_pem_slice(&pem).map_err(|_| TlsError::Pem {
        option,
        path: path.to_owned(),
        problem: "it has no private key: give a PEM file with BEGIN PRIVATE KEY, without a password".to_owned(),
    })
}

/// The authorities of a file.
fn authorities(option: &'static str, path: &Path) -> Result<Arc<RootCertStore>, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(option, path)? {
        roots.add(certificate).map_err(|source| TlsError::Pem {
            option,
            path: path.to_owned(),
            problem: format!("a certificate in it cannot be an authority ({source})"),
        })?;
    }
    Ok(Arc::new(roots))
}

/// The certificate and the key of two options, if both are given.
fn identity(
    (certificate_option, certificate): (&'static str, Option<&PathBuf>),
    (key_option, key): (&'static str, Option<&PathBuf>),
) -> Result<Option<Identity>, TlsError> {
    match (certificate, key) {
        (None, None) => Ok(None),
        (Some(_), None) => Err(TlsError::Alone {
            given: certificate_option,
            missing: key_option,
        }),
        (None, Some(_)) => Err(TlsError::Alone {
            given: key_option,
            missing: certificate_option,
        }),
        (Some(certificate), Some(key)) => Ok(Some((
            certificates(certificate_option, certificate)?,
            private_key(key_option, key)?,
        ))),
    }
}

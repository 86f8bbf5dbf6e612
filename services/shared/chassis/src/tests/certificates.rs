//! Certificates that tests make for themselves.

use std::fs;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

use crate::config::ServiceOptions;
use crate::tls::{ClientTls, ClientTlsOptions, ServerTlsOptions};

/// An authority, with a folder for what it signs.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

/// The files of a certificate and its key.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { issuer, folder }
    }

    /// Its own certificate.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A path in its folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Signs a certificate for these names, in files that begin with `file`.
    pub(crate) fn sign(&self, file: &str, names: &[&str]) -> Pair {
        self.sign_as(file, names, |_| {})
    }

    /// Signs a certificate that ran out years ago.
    pub(crate) fn sign_expired(&self, file: &str, names: &[&str]) -> Pair {
        self.sign_as(file, names, |params| {
            params.not_before = rcgen::date_time_ymd(2001, 1, 1);
            params.not_after = rcgen::date_time_ymd(2002, 1, 1);
        })
    }

    fn sign_as(&self, file: &str, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Pair {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let pair = Pair {
            certificate: self.path(&format!("{file}.pem")),
            key: self.path(&format!("{file}.key")),
        };
        fs::write(&pair.certificate, certificate.pem()).unwrap();
        fs::write(&pair.key, key.serialize_pem()).unwrap();
        pair
    }

    /// A client that trusts it and shows no certificate.
    pub(crate) fn client(&self) -> ClientTls {
        self.client_with(None)
    }

    /// A client that trusts it.
    pub(crate) fn client_with(&self, pair: Option<&Pair>) -> ClientTls {
        let options = ClientTlsOptions {
            ca: Some(self.file()),
            client_cert: pair.map(|pair| pair.certificate.clone()),
            client_key: pair.map(|pair| pair.key.clone()),
        };
        ClientTls::load(&options).unwrap()
    }
}

impl Pair {
    /// The options of a server with this certificate.
    pub(crate) fn server(&self) -> ServerTlsOptions {
        ServerTlsOptions {
            tls_cert: Some(self.certificate.clone()),
            tls_key: Some(self.key.clone()),
            tls_client_ca: None,
        }
    }

    /// A service with this certificate.
    pub(crate) fn service(&self) -> ServiceOptions {
        ServiceOptions {
            tls: self.server(),
            ..ServiceOptions::default()
        }
    }
}

//! TLS of a server.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use emend_core::{Source, Watched};
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;

use super::{H2, TlsError, Validity, authorities, identity, provider};

/// How a server encrypts, and whom it lets in. Everything is a PEM file, read again within a second when it changes.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "TLS")]
pub struct ServerTlsOptions {
    /// PEM file of the server's certificate, with those between it and its authority; needs --tls-key
    #[arg(long, env = "EMEND_TLS_CERT", value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,

    /// PEM file of the private key of --tls-cert
    #[arg(long, env = "EMEND_TLS_KEY", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,

    /// PEM file of the authorities that sign clients' certificates; with it a client without one is refused
    #[arg(long, env = "EMEND_TLS_CLIENT_CA", value_name = "FILE")]
    pub tls_client_ca: Option<PathBuf>,
}

/// A server's TLS, with the certificate in force now. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ServerTls(Arc<Watched<Files>>);

impl ServerTls {
    /// Reads the files for a gRPC server, and again when they change: new connections get the new certificate, those that
    /// are open stay as they are. A changed file that is wrong is logged and changes nothing. `None` without options.
    ///
    /// # Errors
    /// [`TlsError`] with the option and the file.
    pub fn load(options: &ServerTlsOptions) -> Result<Option<Self>, TlsError> {
        Self::load_for(options, &[H2])
    }

    /// As [`ServerTls::load`] for a server of these application protocols, the best first: `h2`, `http/1.1`.
    ///
    /// # Errors
    /// As [`ServerTls::load`].
    pub fn load_for(options: &ServerTlsOptions, protocols: &[&[u8]]) -> Result<Option<Self>, TlsError> {
        if *options == ServerTlsOptions::default() {
            return Ok(None);
        }
        let files = Files {
            options: options.clone(),
            protocols: protocols.iter().map(|protocol| protocol.to_vec()).collect(),
        };
        Ok(Some(Self(Watched::read(files)?)))
    }

    /// What a new connection is to be served with.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.current().config)
    }

    /// When its certificate is valid.
    pub fn validity(&self) -> Validity {
        self.0.current().validity
    }

    /// Reads the files again if they changed.
    #[cfg(test)]
    pub(crate) fn refresh(&self) -> Result<bool, TlsError> {
        self.0.refresh()
    }
}

impl ServerTlsOptions {
    /// Whether connections are encrypted.
    pub fn encrypts(&self) -> bool {
        self.tls_cert.is_some()
    }

    /// Whether clients have to have a certificate.
    pub fn authenticates(&self) -> bool {
        self.encrypts() && self.tls_client_ca.is_some()
    }
}

#[derive(Debug)]
struct Files {
    options: ServerTlsOptions,
    protocols: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct Config {
    config: Arc<ServerConfig>,
    validity: Validity,
}

impl Source for Files {
    type Value = Config;
    type Error = TlsError;
    const NAME: &'static str = "certificate of the server";

    fn files(&self) -> Vec<PathBuf> {
        let ServerTlsOptions {
            tls_cert,
            tls_key,
            tls_client_ca,
        } = self.options.clone();
        tls_cert.into_iter().chain(tls_key).chain(tls_client_ca).collect()
    }

    fn read(&self) -> Result<Config, TlsError> {
        let ServerTlsOptions {
            tls_cert,
            tls_key,
            tls_client_ca,
        } = &self.options;
        let identity = identity(("--tls-cert", tls_cert.as_ref()), ("--tls-key", tls_key.as_ref()))?;
        let (Some((chain, key)), Some(path)) = (identity, tls_cert) else {
            return Err(TlsError::Alone {
                given: "--tls-client-ca",
                missing: "--tls-cert",
            });
        };
        let validity = Validity::of("--tls-cert", path, &chain)?;
        validity.log("--tls-cert", path);
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?;
        let builder = match tls_client_ca {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let roots = authorities("--tls-client-ca", path)?;
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider())
                    .build()
                    .map_err(|error| TlsError::Setup(rustls::Error::General(error.to_string())))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut config = builder
            .with_single_cert(chain, key)
            .map_err(|source| TlsError::Unusable {
                option: "--tls-cert",
                path: path.clone(),
                source,
            })?;
        config.alpn_protocols.clone_from(&self.protocols);
        let config = Arc::new(config);
        Ok(Config { config, validity })
    }
}

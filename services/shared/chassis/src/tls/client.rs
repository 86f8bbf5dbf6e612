//! TLS of clients.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use emend_core::{Source, Watched};
use rustls::ClientConfig;
use rustls_platform_verifier::Verifier;

use super::{H2, TlsError, Validity, authorities, identity, provider};

/// Whom a client trusts, and how it shows who it is. Everything is a PEM file, read again within a second when it changes.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "TLS towards services")]
pub struct ClientTlsOptions {
    /// PEM file of the authorities that sign servers' certificates, for https:// addresses [default: those of the
    /// operating system]
    #[arg(long, env = "EMEND_CA", value_name = "FILE")]
    pub ca: Option<PathBuf>,

    /// PEM file of the certificate that is shown to servers that ask for one; needs --client-key
    #[arg(long, env = "EMEND_CLIENT_CERT", value_name = "FILE")]
    pub client_cert: Option<PathBuf>,

    /// PEM file of the private key of --client-cert
    #[arg(long, env = "EMEND_CLIENT_KEY", value_name = "FILE")]
    pub client_key: Option<PathBuf>,
}

/// A client's TLS, with the files in force now. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ClientTls(Arc<Watched<Files>>);

impl ClientTls {
    /// Reads the files, and again when they change. Without options servers need a certificate that the operating system
    /// trusts.
    ///
    /// # Errors
    /// [`TlsError`] with the option and the file.
    pub fn load(options: &ClientTlsOptions) -> Result<Self, TlsError> {
        Ok(Self(Watched::read(Files(options.clone()))?))
    }

    /// [`ClientTls::load`] where an address needs it or an option says so. Otherwise nothing is asked of the operating
    /// system.
    ///
    /// # Errors
    /// Those of [`ClientTls::load`].
    pub fn for_urls<'a>(
        urls: impl IntoIterator<Item = &'a str>,
        options: &ClientTlsOptions,
    ) -> Result<Option<Self>, TlsError> {
        let encrypted = urls.into_iter().any(|url| url.starts_with("https:"));
        (encrypted || *options != ClientTlsOptions::default())
            .then(|| Self::load(options))
            .transpose()
    }

    /// What a new connection is to be made with.
    pub fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0.current().config)
    }

    /// When its own certificate is valid; `None` if it has none.
    pub fn validity(&self) -> Option<Validity> {
        self.0.current().validity
    }
}

#[derive(Debug)]
struct Files(ClientTlsOptions);

#[derive(Debug)]
struct Config {
    config: Arc<ClientConfig>,
    validity: Option<Validity>,
}

impl Source for Files {
    type Value = Config;
    type Error = TlsError;
    const NAME: &'static str = "certificates of the client";

    fn files(&self) -> Vec<PathBuf> {
        let ClientTlsOptions {
            ca,
            client_cert,
            client_key,
        } = self.0.clone();
        ca.into_iter().chain(client_cert).chain(client_key).collect()
    }

    fn read(&self) -> Result<Config, TlsError> {
        let ClientTlsOptions {
            ca,
            client_cert,
            client_key,
        } = &self.0;
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?;
        let builder = match ca {
            Some(path) => builder.with_root_certificates(authorities("--ca", path)?),
            None => {
                let verifier = Verifier::new(provider()).map_err(TlsError::NoRoots)?;
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
        };
        let pair = ("--client-cert", client_cert.as_ref());
        let mut validity = None;
        let mut config = match (identity(pair, ("--client-key", client_key.as_ref()))?, client_cert) {
            (Some((chain, key)), Some(path)) => {
                let own = Validity::of("--client-cert", path, &chain)?;
                own.log("--client-cert", path);
                validity = Some(own);
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(|source| TlsError::Unusable {
                        option: "--client-cert",
                        path: path.clone(),
                        source,
                    })?
            }
            _ => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![H2.to_vec()];
        let config = Arc::new(config);
        Ok(Config { config, validity })
    }
}

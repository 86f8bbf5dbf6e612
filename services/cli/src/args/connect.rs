//! How a running service is connected to.

use std::path::PathBuf;

use clap::{Args, builder::BoolishValueParser};
use emend_chassis::{ApiKey, ClientTls, ClientTlsOptions, Upstream, UpstreamOptions};

/// How the service at --url is connected to.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "With --url")]
pub struct ConnectOptions {
    /// File with the API key for the service. Without it the key is that of EMEND_API_KEY in the environment, if there is
    /// one
    #[arg(long, env = "EMEND_API_KEY_FILE", value_name = "FILE")]
    pub api_key_file: Option<PathBuf>,
    /// Send the key without TLS to another machine: something else protects the way
    #[arg(long, env = "EMEND_INSECURE", value_parser = BoolishValueParser::new())]
    pub insecure: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub tls: ClientTlsOptions,
}

impl ConnectOptions {
    /// The service at a URL.
    ///
    /// # Errors
    /// The URL is none, or a file of certificates or of the key cannot be used.
    pub fn upstream(&self, url: &str) -> anyhow::Result<Upstream> {
        let options = UpstreamOptions {
            tls: ClientTls::for_urls([url], &self.tls)?,
            api_key: ApiKey::find(self.api_key_file.as_deref(), "EMEND_API_KEY")?,
            insecure: self.insecure,
            ..UpstreamOptions::default()
        };
        Ok(Upstream::with_options(url, options)?)
    }
}

//! The options of the gateway.

use clap::{Args, Parser};
use emend_chassis::{ClientTls, ClientTlsOptions, ServiceOptions, TlsError, UpstreamOptions};

use crate::origin::{HostName, Origin};
use crate::trace_url::{TraceUrl, TraceUrlError};

/// Serves Emend to those who do not speak gRPC: HTTP and JSON, OpenAI's protocol, MCP.
#[derive(Clone, Debug, Parser)]
#[command(name = "emend-gateway", version)]
#[command(mut_arg("listen", |arg| arg.default_value("127.0.0.1:50056")))]
#[command(mut_arg("default_timeout", |arg| arg.default_value("60s")))]
#[expect(
    missing_docs,
    reason = "a doc comment on a group of options would become the help text of the whole program"
)]
pub struct Options {
    #[command(flatten)]
    pub service: ServiceOptions,

    #[command(flatten)]
    pub services: ServiceUrls,

    #[command(flatten)]
    pub client_tls: ClientTlsOptions,

    #[command(flatten)]
    pub browsers: BrowserOptions,

    #[command(flatten)]
    pub page: PageOptions,
}

/// The services that requests are passed on to.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Services")]
pub struct ServiceUrls {
    /// Address of the orchestrator
    #[arg(
        long,
        env = "EMEND_ORCHESTRATOR_URL",
        value_name = "URL",
        default_value = "http://127.0.0.1:50050"
    )]
    pub orchestrator_url: String,

    /// Address of the retriever
    #[arg(
        long,
        env = "EMEND_RETRIEVER_URL",
        value_name = "URL",
        default_value = "http://127.0.0.1:50051"
    )]
    pub retriever_url: String,
}

/// Which pages in a browser may use the gateway.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Browsers")]
pub struct BrowserOptions {
    /// Origin whose pages may call the gateway, for instance `https://app.example.com`; may be repeated. Without any only
    /// pages of the gateway itself may
    #[arg(
        long = "cors-origin",
        env = "EMEND_CORS_ORIGINS",
        value_name = "ORIGIN",
        value_delimiter = ','
    )]
    pub cors_origins: Vec<Origin>,

    /// Host name that requests may be for, besides localhost; may be repeated. Without any, every name is taken, except on
    /// a loopback address, where localhost alone is
    #[arg(
        long = "allowed-host",
        env = "EMEND_ALLOWED_HOSTS",
        value_name = "HOST",
        value_delimiter = ','
    )]
    pub allowed_hosts: Vec<HostName>,
}

/// What the page at `/` shows besides answers.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Page")]
pub struct PageOptions {
    /// Where the page links the trace of an answer to: an address with `{traceId}` once, such as
    /// `http://localhost:16686/trace/{traceId}` of Jaeger. Everybody who opens the page is told it. Without it the page
    /// shows the id alone
    #[arg(long, env = "EMEND_TRACE_URL", value_name = "URL", hide_env_values = true)]
    pub trace_url: Option<String>,
}

impl PageOptions {
    /// The address of traces, if there is one. An empty one is none.
    pub(crate) fn trace_url(&self) -> Result<Option<TraceUrl>, TraceUrlError> {
        let given = self.trace_url.as_deref().filter(|url| !url.is_empty());
        given.map(str::parse).transpose()
    }
}

impl Options {
    /// How the services are called. Keys are those of the callers.
    pub(crate) fn upstream(&self) -> Result<UpstreamOptions, TlsError> {
        let urls = [&self.services.orchestrator_url, &self.services.retriever_url];
        Ok(UpstreamOptions {
            tls: ClientTls::for_urls(urls.map(String::as_str), &self.client_tls)?,
            ..UpstreamOptions::default()
        })
    }
}

emend_chassis::service_options!(Options);

#[cfg(test)]
mod tests;

//! The options of search engines, which the command line tool shares.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use ipnet::IpNet;

use emend_pages::PageSettings;

use crate::backend::{MAX_PAGE_BYTES, Rates};
use emend_pages::{Domain, DomainError, DomainFilter};

/// Environment variable with the API key of Tavily.
pub(crate) const TAVILY_KEY: &str = "EMEND_TAVILY_API_KEY";
/// Environment variable with the API key of Brave.
pub(crate) const BRAVE_KEY: &str = "EMEND_BRAVE_API_KEY";

/// Which search engines are asked, and which of the pages that they find are fetched. Only public addresses are, unless
/// their network is allowed.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Web search")]
pub struct WebOptions {
    /// Where pages come from: one provider, or several, comma-separated, each of which stands in for those before it
    /// when they fail or find nothing. Default: `folder` if there is one, otherwise those that are configured.
    #[arg(
        long = "web-provider",
        env = "EMEND_WEB_PROVIDER",
        value_enum,
        value_delimiter = ',',
        value_name = "PROVIDER"
    )]
    pub provider: Vec<ProviderKind>,

    /// Provider `searxng`: address of an instance, whose settings allow the format `json`.
    #[arg(long, env = "EMEND_SEARXNG_URL", value_name = "URL", hide_env_values = true)]
    pub searxng_url: Option<String>,

    /// Provider `tavily`: file with the API key. Default: the key in the environment variable EMEND_TAVILY_API_KEY.
    #[arg(long, env = "EMEND_TAVILY_API_KEY_FILE", value_name = "FILE")]
    pub tavily_api_key_file: Option<PathBuf>,

    /// Provider `tavily`: address of its API.
    #[arg(
        long,
        env = "EMEND_TAVILY_URL",
        value_name = "URL",
        default_value = "https://api.tavily.com",
        hide_env_values = true
    )]
    pub tavily_url: String,

    /// Provider `brave`: file with the API key. Default: the key in the environment variable EMEND_BRAVE_API_KEY.
    #[arg(long, env = "EMEND_BRAVE_API_KEY_FILE", value_name = "FILE")]
    pub brave_api_key_file: Option<PathBuf>,

    /// Provider `brave`: address of its API.
    #[arg(
        long,
        env = "EMEND_BRAVE_URL",
        value_name = "URL",
        default_value = "https://api.search.brave.com/res/v1",
        hide_env_values = true
    )]
    pub brave_url: String,

    /// Search engines: most searches of each, as 1/s, 30/m or 100/h, and of single ones, as in 1/s,tavily=5/s. More of
    /// them wait, or go to the next provider.
    #[arg(long = "web-rate", env = "EMEND_WEB_RATE", value_name = "[ENGINE=]N/UNIT,...", default_value_t = Rates::default())]
    pub rates: Rates,

    /// Search engines: how long results are kept; 0s keeps none.
    #[arg(long = "web-cache-ttl", env = "EMEND_WEB_CACHE_TTL", value_name = "DURATION", default_value = "15m", value_parser = emend_core::duration)]
    pub cache_ttl: Duration,

    /// Search engines: most MiB of results that are kept.
    #[arg(
        long = "web-cache-mib",
        env = "EMEND_WEB_CACHE_MIB",
        value_name = "MIB",
        default_value_t = 16
    )]
    pub cache_mib: u32,

    /// Only pages of these domains and their subdomains, comma-separated. Default: all.
    #[arg(long = "web-allow-domains", env = "EMEND_WEB_ALLOW_DOMAINS", value_name = "DOMAIN", value_delimiter = ',', value_parser = domain)]
    pub allow_domains: Vec<Domain>,

    /// No pages of these domains and their subdomains, comma-separated.
    #[arg(long = "web-block-domains", env = "EMEND_WEB_BLOCK_DOMAINS", value_name = "DOMAIN", value_delimiter = ',', value_parser = domain)]
    pub block_domains: Vec<Domain>,

    /// Ports that pages may be on, comma-separated.
    #[arg(long = "web-ports", env = "EMEND_WEB_PORTS", value_name = "PORT", value_delimiter = ',', default_values_t = [80, 443])]
    pub ports: Vec<u16>,

    /// Networks that pages may be fetched from although they are not public, comma-separated, like 10.1.0.0/16. Web
    /// pages can then make this service read everything in them that speaks HTTP.
    #[arg(
        long = "web-allow-networks",
        env = "EMEND_WEB_ALLOW_NETWORKS",
        value_name = "CIDR",
        value_delimiter = ','
    )]
    pub allow_networks: Vec<IpNet>,

    /// Fetch pages that the robots.txt of their site forbids.
    #[arg(long = "web-ignore-robots", env = "EMEND_WEB_IGNORE_ROBOTS")]
    pub ignore_robots: bool,
}

impl WebOptions {
    /// The providers that these options select, in the order in which they are asked.
    pub(crate) fn providers(&self, has_folder: bool) -> Vec<ProviderKind> {
        if !self.provider.is_empty() {
            return self.provider.clone();
        }
        if has_folder {
            return vec![ProviderKind::Folder];
        }
        let has_key = |file: &Option<PathBuf>, variable: &str| file.is_some() || std::env::var_os(variable).is_some();
        let configured = [
            (ProviderKind::Tavily, has_key(&self.tavily_api_key_file, TAVILY_KEY)),
            (ProviderKind::Brave, has_key(&self.brave_api_key_file, BRAVE_KEY)),
            (ProviderKind::Searxng, self.searxng_url.is_some()),
        ];
        let found = configured.into_iter().filter(|(_, configured)| *configured);
        found.map(|(kind, _)| kind).collect()
    }

    /// How pages are fetched.
    #[must_use]
    pub fn page_settings(&self) -> PageSettings {
        PageSettings {
            domains: DomainFilter {
                allowed: self.allow_domains.clone(),
                blocked: self.block_domains.clone(),
            },
            ports: self.ports.clone(),
            allowed_networks: self.allow_networks.clone(),
            max_bytes: MAX_PAGE_BYTES,
            ignores_robots: self.ignore_robots,
        }
    }
}

fn domain(text: &str) -> Result<Domain, DomainError> {
    Domain::parse(text)
}

/// Where pages come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProviderKind {
    /// The search engine Tavily; needs an API key.
    Tavily,
    /// The search engine Brave; needs an API key.
    Brave,
    /// A SearXNG instance of your own.
    Searxng,
    /// A folder of saved pages.
    Folder,
    /// Nowhere: every search fails with FAILED_PRECONDITION.
    None,
}

impl ProviderKind {
    /// Whether it is a search engine, whose searches are limited and whose pages are fetched.
    pub(crate) fn is_engine(self) -> bool {
        match self {
            Self::Tavily | Self::Brave | Self::Searxng => true,
            Self::Folder | Self::None => false,
        }
    }

    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tavily => "tavily",
            Self::Brave => "brave",
            Self::Searxng => "searxng",
            Self::Folder => "folder",
            Self::None => "none",
        }
    }
}

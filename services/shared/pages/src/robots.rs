//! The rules of sites for programs: `robots.txt` (RFC 9309).

use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use robotxt::Robots as Rules;
use url::Url;

use crate::domains::DomainFilter;
use crate::fetch::{MAX_REDIRECTS, PageFetcher};

/// Most bytes of a `robots.txt` that are read; RFC 9309 asks for at least 500 KiB.
const MAX_BYTES: usize = 512 * 1024;
/// How long the rules of a site are kept.
const KEPT: Duration = Duration::from_secs(3600);
/// Sites whose rules are kept.
const MAX_SITES: u64 = 1000;
/// The product token of our user agent.
const TOKEN: &str = "emend";

/// The rules of sites, fetched once an hour.
pub(crate) struct Robots {
    sites: Cache<String, Arc<Rules>>,
}

impl Default for Robots {
    fn default() -> Self {
        let sites = Cache::builder().max_capacity(MAX_SITES).time_to_live(KEPT).build();
        Self { sites }
    }
}

impl Robots {
    /// Whether the site of `url` allows it to be fetched. A site without `robots.txt` allows everything; one that cannot be
    /// asked, nothing.
    pub(crate) async fn allow(&self, url: &Url, fetcher: &PageFetcher) -> bool {
        let site = url.origin().ascii_serialization();
        let rules = match self.sites.get(&site) {
            Some(rules) => rules,
            None => {
                let rules = Arc::new(ask(url, fetcher).await);
                self.sites.insert(site, Arc::clone(&rules));
                rules
            }
        };
        rules.is_url_allowed(url)
    }
}

async fn ask(url: &Url, fetcher: &PageFetcher) -> Rules {
    let mut url = url.clone();
    url.set_path("/robots.txt");
    url.set_query(None);
    url.set_fragment(None);
    // Sites redirect to www; the RFC asks to follow at least five.
    for _ in 0..=MAX_REDIRECTS {
        if fetcher.check(&url, &DomainFilter::default()).is_err() {
            return Rules::disallow_all();
        }
        let Ok(response) = fetcher.get(url.clone()).await else {
            return Rules::disallow_all();
        };
        let status = response.status();
        if status.is_redirection() {
            let location = response.headers().get(reqwest::header::LOCATION);
            match location.and_then(|value| url.join(value.to_str().ok()?).ok()) {
                Some(next) => url = next,
                None => return Rules::allow_all(),
            }
            continue;
        }
        if status.is_server_error() {
            return Rules::disallow_all();
        }
        if !status.is_success() {
            return Rules::allow_all();
        }
        return match fetcher.body(response, MAX_BYTES).await {
            Ok(bytes) => Rules::parse(&bytes, TOKEN),
            Err(_) => Rules::disallow_all(),
        };
    }
    Rules::allow_all()
}

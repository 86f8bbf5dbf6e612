//! The rules of sites for programs: `robots.txt` (RFC 9309).

use std::sync::Arc;
use std::time::Duration;

use emend_core::Deadline;
use moka::sync::Cache;
use robotxt::Robots as Rules;
use url::Url;

use crate::domains::DomainFilter;
use crate::fetch::{MAX_REDIRECTS, PageFetcher};

/// Most bytes of a `robots.txt` that are read, and the rest left; RFC 9309 asks for at least 500 KiB.
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
    /// asked, nothing, and it is asked again for its next page.
    pub(crate) async fn allow(&self, url: &Url, fetcher: &PageFetcher, deadline: Deadline) -> bool {
        let site = url.origin().ascii_serialization();
        let rules = match self.sites.get(&site) {
            Some(rules) => rules,
            None => {
                let Some(rules) = ask(url, fetcher, deadline).await else {
                    return false;
                };
                let rules = Arc::new(rules);
                self.sites.insert(site, Arc::clone(&rules));
                rules
            }
        };
        rules.is_url_allowed(url)
    }
}

/// The rules of the site of `url`; `None` if it does not answer by `deadline`.
async fn ask(url: &Url, fetcher: &PageFetcher, deadline: Deadline) -> Option<Rules> {
    let mut url = url.clone();
    url.set_path("/robots.txt");
    url.set_query(None);
    url.set_fragment(None);
    // Sites redirect to www; the RFC asks to follow at least five.
    for _ in 0..=MAX_REDIRECTS {
        if fetcher.check(&url, &DomainFilter::default()).is_err() {
            return Some(Rules::disallow_all());
        }
        let mut exchange = fetcher.get(url.clone(), deadline).await.ok()?;
        let status = exchange.response.status();
        if status.is_redirection() {
            match exchange.location().and_then(|location| url.join(location).ok()) {
                Some(next) => url = next,
                None => return Some(Rules::allow_all()),
            }
            continue;
        }
        if status.is_server_error() {
            return None;
        }
        if !status.is_success() {
            return Some(Rules::allow_all());
        }
        return Some(Rules::parse(&exchange.beginning(MAX_BYTES).await.ok()?, TOKEN));
    }
    Some(Rules::allow_all())
}

//! Pages in memory: saved ones, and those fetched from the web.

use std::collections::HashMap;
use std::time::SystemTime;

use url::Url;

use emend_pages::Domain;

/// A page in memory.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::backend) struct Page {
    /// Where a user can find it.
    pub(in crate::backend) url: Url,
    /// The URL's domain; `None` for a file.
    pub(in crate::backend) domain: Option<Domain>,
    /// Its title; may be empty.
    pub(in crate::backend) title: String,
    /// Its text; never blank.
    pub(in crate::backend) text: String,
    /// When it was saved or fetched.
    pub(in crate::backend) saved: SystemTime,
    /// Additional fields: `doc_id`, if a JSON line has one; `published`, if the page or a search engine says so.
    pub(in crate::backend) metadata: HashMap<String, String>,
}

/// What a page says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::backend) struct Found {
    pub(in crate::backend) url: Option<String>,
    pub(in crate::backend) title: String,
    pub(in crate::backend) text: String,
    /// When it was published, as the page writes it.
    pub(in crate::backend) published: Option<String>,
}

/// Parses an absolute http or https URL; `None` for anything else, which does not tell where a page came from.
pub(in crate::backend) fn web_url(text: &str) -> Option<Url> {
    Url::parse(text.trim())
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

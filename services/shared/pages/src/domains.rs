//! Domains as users write them, compared as in the DNS.

use std::fmt;

use url::{Host, Url};

/// A domain or an IP address in the form of URL hosts: lower case, IDNA-encoded, without a trailing dot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Domain(Host);

/// The text is not a domain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a domain: write the name alone, like example.com, without scheme, port or path")]
pub struct DomainError {
    text: String,
}

impl Domain {
    /// Parses `example.com`, `EXAMPLE.com.`, `*.example.com`, `.example.com`, `例え.jp`, `127.0.0.1` or `[::1]`.
    ///
    /// # Errors
    /// [`DomainError`] for anything else.
    pub fn parse(text: &str) -> Result<Self, DomainError> {
        let error = || DomainError {
            text: text.chars().take(80).collect(),
        };
        let trimmed = text.trim();
        let name = trimmed
            .strip_prefix("*.")
            .or_else(|| trimmed.strip_prefix('.'))
            .unwrap_or(trimmed);
        let name = name.strip_suffix('.').unwrap_or(name);
        let host = Host::parse(name).map_err(|_| error())?;
        match &host {
            Host::Domain(domain) if domain.is_empty() || domain.split('.').any(str::is_empty) => Err(error()),
            _ => Ok(Self(host)),
        }
    }

    /// The domain of `url`; `None` for a file.
    pub fn of(url: &Url) -> Option<Self> {
        // A file:// URL may have a host, which is not a domain on the web.
        (url.scheme() != "file")
            .then(|| Self::parse(url.host_str()?).ok())
            .flatten()
    }

    /// Whether this is `other` or one of its subdomains.
    pub fn is_within(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Host::Domain(mine), Host::Domain(other)) => mine
                .strip_suffix(other.as_str())
                .is_some_and(|left| left.is_empty() || left.ends_with('.')),
            (mine, other) => mine == other,
        }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A filter of pages by domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DomainFilter {
    /// Only pages of these domains and their subdomains; all pages if empty.
    pub allowed: Vec<Domain>,
    /// No pages of these domains and their subdomains, even if allowed.
    pub blocked: Vec<Domain>,
}

impl DomainFilter {
    /// Whether a page of `domain` may be returned. A page without a domain (a file) is in no allowed and no blocked
    /// domain.
    pub fn admits(&self, domain: Option<&Domain>) -> bool {
        let within =
            |domains: &[Domain]| domain.is_some_and(|domain| domains.iter().any(|other| domain.is_within(other)));
        (self.allowed.is_empty() || within(&self.allowed)) && !within(&self.blocked)
    }
}

#[cfg(test)]
mod tests;

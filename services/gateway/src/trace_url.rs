//! Where the page links traces to.

use std::fmt;
use std::str::FromStr;

use emend_core::cut;
use url::Url;

/// What stands for a trace's id.
const PLACEHOLDER: &str = "{traceId}";
/// Longest address, in bytes.
const MAX_BYTES: usize = 2048;
/// An id as traces have it, to see what the address becomes.
const SAMPLE: &str = "0123456789abcdef0123456789abcdef";

/// The address of a trace: `http` or `https`, with `{traceId}` once, after the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceUrl(String);

/// Why an address is none of traces. It shows no user and no password.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TraceUrlError(String);

impl TraceUrl {
    /// The address as it was given.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TraceUrl {
    type Err = TraceUrlError;

    fn from_str(text: &str) -> Result<Self, TraceUrlError> {
        if text.len() > MAX_BYTES {
            return Err(TraceUrlError(format!(
                "has {} bytes, at most {MAX_BYTES} are taken",
                text.len()
            )));
        }
        let times = text.matches(PLACEHOLDER).count();
        if times != 1 {
            return Err(TraceUrlError(format!(
                "has {PLACEHOLDER} {times} times, and needs it once"
            )));
        }
        let url = Url::parse(&text.replace(PLACEHOLDER, SAMPLE))
            .map_err(|error| TraceUrlError(format!("is not the address of a page ({error})")))?;
        let scheme = url.scheme();
        if !matches!(scheme, "http" | "https") {
            return Err(TraceUrlError(format!(
                "begins with `{}:`, and only http and https are linked to",
                cut(scheme)
            )));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TraceUrlError(
                "has a user or a password, which everybody who opens the page would be told".to_owned(),
            ));
        }
        let after_host = [Some(url.path()), url.query(), url.fragment()];
        if !after_host.iter().flatten().any(|part| part.contains(SAMPLE)) {
            return Err(TraceUrlError(format!(
                "has {PLACEHOLDER} in its host, and needs it after that"
            )));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for TraceUrlError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(problem) = self;
        write!(
            formatter,
            "--trace-url {problem}: write it like http://localhost:16686/trace/{PLACEHOLDER}"
        )
    }
}

impl std::error::Error for TraceUrlError {}

#[cfg(test)]
mod tests;

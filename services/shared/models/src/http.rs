//! HTTP clients for downloads.

use emend_core::http;
use reqwest::redirect::Policy;

/// Most redirects that a download follows.
const MAX_REDIRECTS: usize = 5;

/// A builder for downloads, which send no secret: a hub redirects to where its files are. From HTTPS it follows to HTTPS
/// only.
pub(crate) fn downloads() -> reqwest::ClientBuilder {
    http::builder().redirect(Policy::custom(|attempt| {
        let secure = attempt.previous().first().is_none_or(|url| url.scheme() == "https");
        if secure && attempt.url().scheme() != "https" {
            attempt.error("it redirects from https to http")
        } else if attempt.previous().len() > MAX_REDIRECTS {
            attempt.error("it redirects too often")
        } else {
            attempt.follow()
        }
    }))
}

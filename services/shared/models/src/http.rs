//! What every HTTP client of this crate shares.

use reqwest::redirect::Policy;

/// Most redirects that a download follows.
const MAX_REDIRECTS: usize = 5;

/// A client's builder, with TLS by rustls and its ring provider: no other crate of the workspace opens a TLS connection.
/// Redirects are not followed: what is sent holds questions, documents and keys, which were meant for one address.
pub(crate) fn builder() -> reqwest::ClientBuilder {
    // An error means that the program has chosen a provider already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("emend/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
}

/// A builder for downloads, which send no secret: a hub redirects to where its files are. From HTTPS it follows to HTTPS
/// only.
pub(crate) fn downloads() -> reqwest::ClientBuilder {
    builder().redirect(Policy::custom(|attempt| {
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

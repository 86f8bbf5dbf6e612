//! What every HTTP client of the workspace shares.

use reqwest::ClientBuilder;
use reqwest::redirect::Policy;

/// The user agent, in requests and for `robots.txt`.
pub const USER_AGENT: &str = concat!("emend/", env!("CARGO_PKG_VERSION"));

/// A client's builder, with TLS by rustls and its ring provider. Redirects are not followed: what is sent holds questions,
/// documents and keys, which were meant for one address.
pub fn builder() -> ClientBuilder {
    // An error means that the program has chosen a provider already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .redirect(Policy::none())
}

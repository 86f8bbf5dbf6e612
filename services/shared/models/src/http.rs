//! What every HTTP client of this crate shares.

/// A client's builder, with TLS by rustls and its ring provider: no other crate of the workspace opens a TLS connection.
pub(crate) fn builder() -> reqwest::ClientBuilder {
    // An error means that the program has chosen a provider already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().user_agent(concat!("emend/", env!("CARGO_PKG_VERSION")))
}

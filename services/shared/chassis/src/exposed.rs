//! Whether a service would be open to whoever reaches its port.

use std::net::SocketAddr;

use emend_core::list_names;

use crate::config::ServiceOptions;

/// A service would listen beyond this machine, open to whoever reaches its port.
#[derive(Debug, thiserror::Error)]
#[error(
    "listening on {address} without {}: whoever reaches the port could read and use the service. Set them, listen on \
     127.0.0.1, or say --insecure (EMEND_INSECURE=true) where something else protects the port",
    list_names(lacking)
)]
pub struct Exposed {
    /// Where it would listen.
    pub address: SocketAddr,
    /// What is missing, by option.
    pub lacking: Vec<&'static str>,
}

/// Refuses an address beyond this machine where connections are not encrypted or callers need to show nothing. With
/// `--insecure` it is said in the log in place of that, at every start.
///
/// # Errors
/// [`Exposed`].
pub fn refuse_exposed(options: &ServiceOptions, address: SocketAddr) -> Result<(), Exposed> {
    let mut lacking = Vec::new();
    if !options.tls.encrypts() {
        lacking.push("TLS (--tls-cert, --tls-key)");
    }
    if !options.tls.authenticates() && options.keys_file.is_none() {
        lacking.push("API keys or certificates of clients (--keys-file, --tls-client-ca)");
    }
    if address.ip().is_loopback() || lacking.is_empty() {
        return Ok(());
    }
    if !options.insecure {
        return Err(Exposed { address, lacking });
    }
    tracing::warn!(
        %address,
        without = list_names(&lacking),
        "the service listens beyond this machine and is insecure: whoever reaches the port can use it"
    );
    Ok(())
}

#[cfg(test)]
mod tests;

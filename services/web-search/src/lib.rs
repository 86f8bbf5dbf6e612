//! Web search: passages from outside the user's documents, for when those do not help.
//!
//! A provider finds the passages, within the limit and the domains of the request. Web text is not
//! trusted: every passage is marked `ORIGIN_WEB` and graded like any other.

pub mod backend;
mod config;
mod error;
mod service;
mod validate;
mod work;

use std::process::ExitCode;
use std::sync::Arc;

use emend_chassis::{ServeError, Server, ServiceOptions};
use emend_proto::FILE_DESCRIPTOR_SET;
use emend_proto::v1::web_search_service_server::WebSearchServiceServer;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::backend::Provider;
use crate::service::Service;
use crate::work::Searcher;

pub use backend::{Rate, Rates};
pub use config::{Options, ProviderKind, WebOptions};
pub use emend_pages::{Domain, DomainError, DomainFilter, PageSettings};
pub use error::{LoadError, SearchError};

/// Name of the service in health checks.
pub use emend_proto::v1::web_search_service_server::SERVICE_NAME;

/// The longest request: a query of 8 KiB and 200 domains of 253 bytes, with room to spare.
const MAX_REQUEST_BYTES: usize = 256 * 1024;

/// The main function of `emend-web-search`.
#[must_use]
pub fn main() -> ExitCode {
    emend_chassis::run::<Options, _, _>("emend-web-search", serve)
}

/// Serves web search on `listener` until `shutdown` is cancelled and the calls in flight are done.
///
/// # Errors
/// [`ServeError`] when the provider cannot be loaded from the options (a folder that does not
/// exist) or the server fails.
pub async fn serve(options: Options, listener: TcpListener, shutdown: CancellationToken) -> Result<(), ServeError> {
    let provider = tokio::select! {
        biased;
        // What is being read is dropped with it.
        () = shutdown.cancelled() => return Ok(()),
        loaded = backend::load(&options) => loaded.map_err(ServeError::start)?,
    };
    serve_provider(provider, &options.service, listener, shutdown).await
}

/// Serves web search with this provider; [`serve`] loads the provider from the options.
///
/// # Errors
/// [`ServeError`] when the actor or the server cannot be started.
pub async fn serve_provider(
    provider: Arc<dyn Provider>,
    options: &ServiceOptions,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let state = Arc::new(Searcher::new(provider));
    Server::new("emend-web-search", options)
        .descriptors(FILE_DESCRIPTOR_SET)
        .serve_actor(
            move || Arc::clone(&state),
            |actors| WebSearchServiceServer::new(Service(actors)).max_decoding_message_size(MAX_REQUEST_BYTES),
            listener,
            shutdown,
        )
        .await
}

#[cfg(test)]
mod tests;

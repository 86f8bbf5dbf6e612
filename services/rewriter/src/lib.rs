//! The rewriter: from the question that was asked and the queries that failed, the next query.
//!
//! It starts from the original question every time, because rewriting a rewrite loses more of it each time (R2). It never
//! returns a query that has failed (R3).

pub mod backend;
mod config;
mod error;
mod queries;
mod service;
mod validate;
mod work;

use std::process::ExitCode;
use std::sync::Arc;

use emend_chassis::{ServeError, Server, ServiceOptions};
use emend_proto::FILE_DESCRIPTOR_SET;
use emend_proto::v1::rewriter_service_server::RewriterServiceServer;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::backend::Backend;
use crate::service::Service;
use crate::work::Rewriter;

pub use config::{BackendKind, Options};
pub use error::{LoadError, RewriteError};

/// Name of the service in health checks.
pub use emend_proto::v1::rewriter_service_server::SERVICE_NAME;

/// The longest request: 20 passages of 64 KiB, 50 queries and 50 messages of 8 KiB, and what surrounds them.
const MAX_REQUEST_BYTES: usize = 4 * 1024 * 1024;

/// The main function of `emend-rewriter`.
#[must_use]
pub fn main() -> ExitCode {
    emend_chassis::run::<Options, _, _>("emend-rewriter", serve)
}

/// Serves the rewriter on `listener` until `shutdown` is cancelled and the calls in flight are done.
///
/// # Errors
/// [`ServeError`] when the backend cannot be made from the options or the server fails.
pub async fn serve(options: Options, listener: TcpListener, shutdown: CancellationToken) -> Result<(), ServeError> {
    let backend = backend::load(&options).await.map_err(ServeError::start)?;
    serve_backend(backend, &options.service, listener, shutdown).await
}

/// Serves a rewriter whose queries come from `backend`; [`serve`] with a backend of one's own.
///
/// # Errors
/// [`ServeError`] when the actor or the server cannot be started.
pub async fn serve_backend(
    backend: Arc<dyn Backend>,
    options: &ServiceOptions,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let state = Arc::new(Rewriter(backend));
    Server::new("emend-rewriter", options)
        .descriptors(FILE_DESCRIPTOR_SET)
        .serve_actor(
            move || Arc::clone(&state),
            |actors| RewriterServiceServer::new(Service(actors)).max_decoding_message_size(MAX_REQUEST_BYTES),
            listener,
            shutdown,
        )
        .await
}

#[cfg(test)]
mod tests;

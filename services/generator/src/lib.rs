//! The generator: writes an answer from passages, as a stream.
//!
//! There are two backends. `extractive` quotes the best-supported sentences and needs no language
//! model. `openai` calls a language model and extracts the citations from its text.

pub mod backend;
mod citations;
mod config;
mod continuation;
mod draft;
mod error;
mod likelihood;
mod limit;
mod reasoning;
mod selection;
mod service;
#[cfg(test)]
mod tests;
mod validate;
mod work;

use std::process::ExitCode;
use std::sync::Arc;

use emend_chassis::{ServeError, Server, ServiceOptions};
use emend_core::limits::MAX_EVIDENCE_REQUEST_BYTES;
use emend_proto::FILE_DESCRIPTOR_SET;
use emend_proto::v1::generator_service_server::GeneratorServiceServer;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::backend::Backend;
use crate::service::Service;
use crate::work::Generator;

pub use config::{BackendKind, Options};
pub use error::{GenerateError, LoadError};

/// Name of the service in health checks.
pub use emend_proto::v1::generator_service_server::SERVICE_NAME;

/// The main function of `emend-generator`.
#[must_use]
pub fn main() -> ExitCode {
    emend_chassis::run::<Options, _, _>("emend-generator", serve)
}

/// Serves the generator on `listener` until `shutdown` is cancelled and the calls in flight are done.
///
/// # Errors
/// [`ServeError`] when the backend's models cannot be loaded or the server fails.
pub async fn serve(options: Options, listener: TcpListener, shutdown: CancellationToken) -> Result<(), ServeError> {
    let backend = backend::load(&options).await.map_err(ServeError::start)?;
    serve_backend(backend, &options.service, listener, shutdown).await
}

/// Serves a generator with this backend; [`serve`] loads the backend from the options.
///
/// # Errors
/// [`ServeError`] when the actor or the server cannot be started.
pub async fn serve_backend(
    backend: Arc<dyn Backend>,
    options: &ServiceOptions,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let state = Arc::new(Generator(backend));
    Server::new("emend-generator", options)
        .descriptors(FILE_DESCRIPTOR_SET)
        .serve_actor(
            move || Arc::clone(&state),
            |actors| GeneratorServiceServer::new(Service(actors)).max_decoding_message_size(MAX_EVIDENCE_REQUEST_BYTES),
            listener,
            shutdown,
        )
        .await
}

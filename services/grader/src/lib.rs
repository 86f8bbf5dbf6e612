//! The grader: is a passage relevant to the question, is an answer supported by the evidence, is it useful, does it need
//! evidence at all, and which pieces of the passages are worth keeping.
//!
//! The grades are ISREL, ISSUP and ISUSE of Self-RAG (Asai et al. 2023) and the decision is its Retrieve; the verdict
//! over all passages of one retrieval and the strips are those of Corrective RAG (Yan et al. 2024). Two backends give them: one in process, calibrated on labelled
//! pairs, and a language model that says yes or no. A grade that cannot be had is ungraded, which is not a bad grade.

pub mod backend;
mod code_point_offsets;
mod config;
mod documents;
mod error;
mod groundedness;
mod refine;
mod retrieval_decision;
mod service;
mod strips;
#[cfg(test)]
mod tests;
mod usefulness;
mod validate;
mod work;

use std::sync::Arc;

use emend_chassis::{ServeError, Server, ServiceOptions};
use emend_core::limits::MAX_EVIDENCE_REQUEST_BYTES;
use emend_proto::FILE_DESCRIPTOR_SET;
use emend_proto::v1::grader_service_server::GraderServiceServer;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::backend::Backend;
use crate::service::Service;
use crate::work::Grader;

pub use config::{BackendKind, Options};
pub use error::{GradeError, LoadError};

/// Name of the service in health checks.
pub const SERVICE_NAME: &str = "emend.v1.GraderService";

/// Serves the grader on `listener` until `shutdown` is cancelled and the calls in flight are done.
///
/// # Errors
/// [`ServeError`] when the backend's models cannot be loaded or the server fails.
pub async fn serve(options: Options, listener: TcpListener, shutdown: CancellationToken) -> Result<(), ServeError> {
    let backend = backend::load(&options).await.map_err(ServeError::start)?;
    serve_backend(backend, &options.service, listener, shutdown).await
}

/// Serves a grader whose grades come from `backend`; [`serve`] with a backend of one's own.
///
/// # Errors
/// [`ServeError`] when the actor or the server cannot be started.
pub async fn serve_backend(
    backend: Arc<dyn Backend>,
    options: &ServiceOptions,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let state = Arc::new(Grader(backend));
    Server::new("emend-grader", options)
        .descriptors(FILE_DESCRIPTOR_SET)
        .serve_actor(
            move || Arc::clone(&state),
            |actors| GraderServiceServer::new(Service(actors)).max_decoding_message_size(MAX_EVIDENCE_REQUEST_BYTES),
            listener,
            shutdown,
        )
        .await
}

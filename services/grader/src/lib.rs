//! The grader: grades whether passages are relevant, whether an answer is supported by evidence,
//! whether it is useful, and whether it needs evidence at all, and selects which strips of passages
//! to keep.
//!
//! The grades are ISREL, ISSUP and ISUSE of Self-RAG (Asai et al. 2023), and the decision is its
//! Retrieve. The evaluation over all passages of one retrieval and the strips are those of
//! Corrective RAG (Yan et al. 2024). Grades come from an evaluator in this process that is
//! calibrated on labelled pairs, from a language model with constrained verdicts, or from both. A
//! missing grade is UNGRADED, which is not a bad grade (R4).

pub mod backend;
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

use std::process::ExitCode;
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
pub use emend_proto::v1::grader_service_server::SERVICE_NAME;

/// The main function of `emend-grader`.
#[must_use]
pub fn main() -> ExitCode {
    emend_chassis::run::<Options, _, _>("emend-grader", serve)
}

/// Serves the grader on `listener` until `shutdown` is cancelled and the calls in flight are done.
///
/// # Errors
/// [`ServeError`] when the backend's models cannot be loaded or the server fails.
pub async fn serve(options: Options, listener: TcpListener, shutdown: CancellationToken) -> Result<(), ServeError> {
    let backend = backend::load(&options).await.map_err(ServeError::start)?;
    serve_backend(backend, &options.service, listener, shutdown).await
}

/// Serves a grader with this backend; [`serve`] loads the backend from the options.
///
/// # Errors
/// [`ServeError`] when the actor or the server cannot be started.
pub async fn serve_backend(
    backend: Arc<dyn Backend>,
    options: &ServiceOptions,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let state = Arc::new(Grader::new(backend));
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

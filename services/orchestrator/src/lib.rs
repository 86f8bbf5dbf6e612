//! The orchestrator: walks a graph for a question by calling the other five services.
//!
//! [`graph`] loads graphs and proves that every walk through them ends. [`walk`] runs one walk. The
//! other modules expose both as a gRPC service.
#![warn(missing_docs)]

pub mod catalog;
mod checks;
mod config;
mod error;
pub mod feedback;
pub mod graph;
pub mod mermaid;
pub mod replay;
mod service;
mod validate;
pub mod walk;
mod walk_request;
pub mod work;

use std::process::ExitCode;
use std::sync::Arc;

use emend_chassis::{ServeError, Server};
use emend_core::{Deadline, Scope, limits::MAX_MESSAGE_BYTES};
use emend_proto::v1::orchestrator_service_server::OrchestratorServiceServer;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use crate::{
    config::{Options, ServiceUrls},
    error::StartError,
    service::Orchestrator,
    validate::feedback as check_feedback,
};
use crate::{
    walk::{GrpcServices, WalkMetrics},
    work::{WalkRunner, WalkServices},
};

/// Name of the service in health checks.
pub use emend_proto::v1::orchestrator_service_server::SERVICE_NAME;

/// Checks a question as the service does, before it is asked of one.
///
/// # Errors
/// INVALID_ARGUMENT with the bad fields, NOT_FOUND for an unknown graph.
pub async fn check(catalog: &catalog::Catalog, question: emend_proto::v1::Question) -> Result<(), tonic::Status> {
    let options = Options::default();
    let graphs = walk_request::Graphs {
        catalog,
        default: &options.default_graph,
        checks: &checks::GraphChecks::default(),
    };
    let scope = Scope {
        deadline: Deadline::after(options.service.default_timeout),
        cancel: CancellationToken::new(),
    };
    walk_request::walk_request(graphs, &scope, Some(question))
        .await
        .map(drop)
}

/// The main function of `emend-orchestrator`.
#[must_use]
pub fn main() -> ExitCode {
    emend_chassis::run::<Options, _, _>("emend-orchestrator", serve)
}

/// Serves until `shutdown` is cancelled and the walks in flight have ended.
///
/// # Errors
/// [`ServeError`] when a graph is invalid, a service URL is malformed, or the server fails.
pub async fn serve(options: Options, listener: TcpListener, shutdown: CancellationToken) -> Result<(), ServeError> {
    let catalog = catalog::load_live(options.graphs_dir.as_deref())
        .map_err(|error| ServeError::start(StartError::from(error)))?;
    catalog
        .current()
        .get(&options.default_graph)
        .map_err(|unknown| ServeError::start(StartError::DefaultGraph(unknown)))?;
    // Finds malformed service URLs at startup. Each actor creates its own clients later.
    let upstream = options.upstream()?;
    GrpcServices::new(&options.services, &upstream).map_err(|error| ServeError::start(StartError::from(error)))?;
    let urls = options.services.clone();
    let services = WalkServices(Arc::new(move || Ok(Arc::new(GrpcServices::new(&urls, &upstream)?))));

    let feedback = options
        .feedback_dir
        .as_deref()
        .map(feedback::FeedbackFolder::open)
        .transpose();
    let feedback = feedback.map_err(|error| ServeError::start(StartError::Feedback(error)))?;
    let metrics = WalkMetrics::default();
    Server::new("emend-orchestrator", &options.service)
        .descriptors(emend_proto::FILE_DESCRIPTOR_SET)
        .serve_actor(
            move || Arc::new(WalkRunner::new(services.clone(), metrics.clone())),
            |walks| {
                let orchestrator = Orchestrator::new(catalog, &options.default_graph, walks)
                    .with_feedback(feedback)
                    .graph_yaml(options.graph_yaml)
                    .record_content(options.record_content);
                OrchestratorServiceServer::new(orchestrator)
                    .max_decoding_message_size(MAX_MESSAGE_BYTES)
                    .max_encoding_message_size(MAX_MESSAGE_BYTES)
            },
            listener,
            shutdown,
        )
        .await
}

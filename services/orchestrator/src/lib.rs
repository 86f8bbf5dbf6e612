//! The orchestrator: walks a graph for a question by calling the other five services.
//!
//! [`graph`] is what can be walked, proven to end before it is; [`walk`] is the walking; the rest makes a gRPC service
//! of them.
#![warn(missing_docs)]

pub mod catalog;
mod config;
mod error;
pub mod graph;
pub mod mermaid;
mod service;
mod validate;
pub mod walk;
mod walk_request;
pub mod work;

use std::sync::Arc;

use emend_chassis::{ServeError, Server};
use emend_core::limits::MAX_MESSAGE_BYTES;
use emend_proto::v1::orchestrator_service_server::OrchestratorServiceServer;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use crate::{
    config::{Options, ServiceUrls},
    error::StartError,
    service::Orchestrator,
};
use crate::{
    walk::{GrpcServices, WalkMetrics},
    work::{WalkRunner, WalkServices},
};

/// Name of the service, as health reports it.
pub const SERVICE: &str = "emend.v1.OrchestratorService";

/// Serves until `shutdown` is cancelled and the walks in flight have ended.
///
/// # Errors
/// [`ServeError`] when a graph is wrong, an address is none, or the server fails.
pub async fn serve(options: Options, listener: TcpListener, shutdown: CancellationToken) -> Result<(), ServeError> {
    let catalog = catalog::load_live(options.graphs_dir.as_deref())
        .map_err(|error| ServeError::start(StartError::from(error)))?;
    catalog
        .current()
        .get(&options.default_graph)
        .map_err(|unknown| ServeError::start(StartError::DefaultGraph(unknown)))?;
    // Wrong addresses are found now; the threads that walk make clients of their own.
    GrpcServices::new(&options.services).map_err(|error| ServeError::start(StartError::from(error)))?;
    let urls = options.services.clone();
    let services = WalkServices(Arc::new(move || Ok(Arc::new(GrpcServices::new(&urls)?))));

    let metrics = WalkMetrics::default();
    Server::new("emend-orchestrator", &options.service)
        .descriptors(emend_proto::FILE_DESCRIPTOR_SET)
        .serve_actor(
            move || Arc::new(WalkRunner::new(services.clone(), metrics.clone())),
            |walks| {
                let orchestrator = Orchestrator::new(catalog, &options.default_graph, walks);
                OrchestratorServiceServer::new(orchestrator)
                    .max_decoding_message_size(MAX_MESSAGE_BYTES)
                    .max_encoding_message_size(MAX_MESSAGE_BYTES)
            },
            listener,
            shutdown,
        )
        .await
}

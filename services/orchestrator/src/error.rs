//! Errors outside of a walk: unknown graphs and failed starts.

use emend_core::{Code, ServiceError};

use crate::catalog::UnknownGraph;

impl ServiceError for UnknownGraph {
    fn code(&self) -> Code {
        Code::NotFound
    }
}

/// Why the service cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A graph file is invalid.
    #[error("the graphs cannot be loaded")]
    Catalog(#[from] crate::catalog::CatalogError),
    /// The default graph does not exist.
    #[error("--default-graph")]
    DefaultGraph(#[source] UnknownGraph),
    /// A service URL is malformed.
    #[error(transparent)]
    Upstream(#[from] emend_chassis::UpstreamError),
}

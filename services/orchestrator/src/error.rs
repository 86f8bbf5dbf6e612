//! Errors of the calls that do not walk.

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
    /// A graph file is wrong.
    #[error("the graphs cannot be loaded")]
    Catalog(#[from] crate::catalog::CatalogError),
    /// The default graph does not exist.
    #[error("--default-graph")]
    DefaultGraph(#[source] UnknownGraph),
    /// An address of a service is none.
    #[error(transparent)]
    Upstream(#[from] emend_chassis::UpstreamError),
}

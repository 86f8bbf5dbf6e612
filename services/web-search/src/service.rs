//! The gRPC adapter: validate, hand to an actor, map the error.

use emend_chassis::ActorHandle;
use emend_proto::v1::web_search_service_server::WebSearchService;
use emend_proto::v1::{SearchRequest, SearchResponse};
use tonic::{Request, Response, Status};

use crate::validate;
use crate::work::{Search, Searcher};

/// `emend.v1.WebSearchService` in front of the actors.
pub(crate) struct Service(pub(crate) ActorHandle<Searcher>);

#[tonic::async_trait]
impl WebSearchService for Service {
    async fn search(&self, request: Request<SearchRequest>) -> Result<Response<SearchResponse>, Status> {
        let valid = |request| validate::search(request).map(Search);
        self.0.unary(request, valid).await
    }
}

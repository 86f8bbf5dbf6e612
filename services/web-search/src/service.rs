//! The gRPC adapter: validate, hand to the actor, map the error.

use std::time::Duration;

use emend_chassis::{ActorHandle, Caller};
use emend_proto::v1::web_search_service_server::WebSearchService;
use emend_proto::v1::{SearchRequest, SearchResponse};
use tonic::{Request, Response, Status};

use crate::actor::WebSearchActor;
use crate::messages::Search;
use crate::validate;

/// `emend.v1.WebSearchService` in front of the actor.
pub(crate) struct Service {
    actor: ActorHandle<WebSearchActor>,
    default_timeout: Duration,
}

impl Service {
    pub(crate) fn new(actor: ActorHandle<WebSearchActor>, default_timeout: Duration) -> Self {
        Self { actor, default_timeout }
    }
}

#[tonic::async_trait]
impl WebSearchService for Service {
    async fn search(&self, request: Request<SearchRequest>) -> Result<Response<SearchResponse>, Status> {
        let caller = Caller::of(&request, self.default_timeout);
        let query = validate::search(request.into_inner())?;
        Ok(Response::new(self.actor.call(Search(query), caller).await?))
    }
}

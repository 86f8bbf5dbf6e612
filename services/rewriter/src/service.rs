//! The gRPC adapter: validate, hand to the actor, map the error.

use std::time::Duration;

use emend_chassis::{ActorHandle, Caller};
use emend_proto::v1::rewriter_service_server::RewriterService;
use emend_proto::v1::{RewriteRequest, RewriteResponse};
use tonic::{Request, Response, Status};

use crate::actor::RewriterActor;
use crate::messages::Rewrite;
use crate::validate;

/// `emend.v1.RewriterService` in front of the actor.
pub(crate) struct Service {
    actor: ActorHandle<RewriterActor>,
    default_timeout: Duration,
}

impl Service {
    pub(crate) fn new(actor: ActorHandle<RewriterActor>, default_timeout: Duration) -> Self {
        Self { actor, default_timeout }
    }
}

#[tonic::async_trait]
impl RewriterService for Service {
    async fn rewrite(&self, request: Request<RewriteRequest>) -> Result<Response<RewriteResponse>, Status> {
        let caller = Caller::of(&request, self.default_timeout);
        let request = request.into_inner();
        validate::rewrite(&request)?;
        Ok(Response::new(self.actor.call(Rewrite(request), caller).await?))
    }
}

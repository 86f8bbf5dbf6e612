//! The gRPC adapter: validate, hand to an actor, map the error.

use emend_chassis::ActorHandle;
use emend_proto::v1::rewriter_service_server::RewriterService;
use emend_proto::v1::{RewriteRequest, RewriteResponse};
use tonic::{Request, Response, Status};

use crate::validate;
use crate::work::Rewriter;

/// `emend.v1.RewriterService` in front of the actors.
pub(crate) struct Service(pub(crate) ActorHandle<Rewriter>);

#[tonic::async_trait]
impl RewriterService for Service {
    async fn rewrite(&self, request: Request<RewriteRequest>) -> Result<Response<RewriteResponse>, Status> {
        let valid = |request| validate::rewrite(&request).map(|()| request);
        self.0.unary(request, valid).await
    }
}

//! The gRPC adapter: validate, hand to the actor, map the error.

use std::time::Duration;

use emend_chassis::{ActorHandle, Caller};
use emend_proto::v1::grader_service_server::GraderService;
use emend_proto::v1::{
    DecideRetrievalRequest, DecideRetrievalResponse, GradeDocumentsRequest, GradeDocumentsResponse,
    GradeGroundednessRequest, GradeGroundednessResponse, GradeUsefulnessRequest, GradeUsefulnessResponse,
    RefineKnowledgeRequest, RefineKnowledgeResponse,
};
use tonic::{Request, Response, Status};

use crate::actor::GraderActor;
use crate::messages::{DecideRetrieval, GradeDocuments, GradeGroundedness, GradeUsefulness, RefineKnowledge};
use crate::validate;

/// `emend.v1.GraderService` in front of the actor.
pub(crate) struct Service {
    actor: ActorHandle<GraderActor>,
    default_timeout: Duration,
}

impl Service {
    pub(crate) fn new(actor: ActorHandle<GraderActor>, default_timeout: Duration) -> Self {
        Self { actor, default_timeout }
    }
}

#[tonic::async_trait]
impl GraderService for Service {
    async fn grade_documents(
        &self,
        request: Request<GradeDocumentsRequest>,
    ) -> Result<Response<GradeDocumentsResponse>, Status> {
        let caller = Caller::of(&request, self.default_timeout);
        let request = request.into_inner();
        validate::documents(&request)?;
        Ok(Response::new(self.actor.call(GradeDocuments(request), caller).await?))
    }

    async fn grade_groundedness(
        &self,
        request: Request<GradeGroundednessRequest>,
    ) -> Result<Response<GradeGroundednessResponse>, Status> {
        let caller = Caller::of(&request, self.default_timeout);
        let request = request.into_inner();
        validate::groundedness(&request)?;
        Ok(Response::new(
            self.actor.call(GradeGroundedness(request), caller).await?,
        ))
    }

    async fn grade_usefulness(
        &self,
        request: Request<GradeUsefulnessRequest>,
    ) -> Result<Response<GradeUsefulnessResponse>, Status> {
        let caller = Caller::of(&request, self.default_timeout);
        let request = request.into_inner();
        validate::usefulness(&request)?;
        Ok(Response::new(self.actor.call(GradeUsefulness(request), caller).await?))
    }

    async fn decide_retrieval(
        &self,
        request: Request<DecideRetrievalRequest>,
    ) -> Result<Response<DecideRetrievalResponse>, Status> {
        let caller = Caller::of(&request, self.default_timeout);
        let request = request.into_inner();
        validate::retrieval(&request)?;
        Ok(Response::new(self.actor.call(DecideRetrieval(request), caller).await?))
    }

    async fn refine_knowledge(
        &self,
        request: Request<RefineKnowledgeRequest>,
    ) -> Result<Response<RefineKnowledgeResponse>, Status> {
        let caller = Caller::of(&request, self.default_timeout);
        let request = request.into_inner();
        validate::refinement(&request)?;
        Ok(Response::new(self.actor.call(RefineKnowledge(request), caller).await?))
    }
}

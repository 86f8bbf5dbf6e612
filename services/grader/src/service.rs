//! The gRPC adapter: validate, hand to an actor, map the error.

use emend_chassis::ActorHandle;
use emend_proto::v1::grader_service_server::GraderService;
use emend_proto::v1::{
    DecideRetrievalRequest, DecideRetrievalResponse, GradeDocumentsRequest, GradeDocumentsResponse,
    GradeGroundednessRequest, GradeGroundednessResponse, GradeUsefulnessRequest, GradeUsefulnessResponse,
    RefineKnowledgeRequest, RefineKnowledgeResponse,
};
use tonic::{Request, Response, Status};

use crate::validate;
use crate::work::Grader;

/// `emend.v1.GraderService` in front of the actors.
pub(crate) struct Service(pub(crate) ActorHandle<Grader>);

#[tonic::async_trait]
impl GraderService for Service {
    async fn grade_documents(
        &self,
        request: Request<GradeDocumentsRequest>,
    ) -> Result<Response<GradeDocumentsResponse>, Status> {
        let valid = |request| validate::documents(&request).map(|()| request);
        self.0.unary(request, valid).await
    }

    async fn grade_groundedness(
        &self,
        request: Request<GradeGroundednessRequest>,
    ) -> Result<Response<GradeGroundednessResponse>, Status> {
        let valid = |request| validate::groundedness(&request).map(|()| request);
        self.0.unary(request, valid).await
    }

    async fn grade_usefulness(
        &self,
        request: Request<GradeUsefulnessRequest>,
    ) -> Result<Response<GradeUsefulnessResponse>, Status> {
        let valid = |request| validate::usefulness(&request).map(|()| request);
        self.0.unary(request, valid).await
    }

    async fn decide_retrieval(
        &self,
        request: Request<DecideRetrievalRequest>,
    ) -> Result<Response<DecideRetrievalResponse>, Status> {
        let valid = |request| validate::retrieval(&request).map(|()| request);
        self.0.unary(request, valid).await
    }

    async fn refine_knowledge(
        &self,
        request: Request<RefineKnowledgeRequest>,
    ) -> Result<Response<RefineKnowledgeResponse>, Status> {
        let valid = |request| validate::refinement(&request).map(|()| request);
        self.0.unary(request, valid).await
    }
}

//! The five services as a walk sees them.

use std::fmt;

use emend_core::{Code, Deadline, FieldViolation};
use emend_proto::v1::{
    DecideRetrievalRequest, DecideRetrievalResponse, GenerateRequest, GradeDocumentsRequest, GradeDocumentsResponse,
    GradeGroundednessRequest, GradeGroundednessResponse, GradeUsefulnessRequest, GradeUsefulnessResponse,
    RefineKnowledgeRequest, RefineKnowledgeResponse, RetrieveRequest, RetrieveResponse, RewriteRequest,
    RewriteResponse, SearchRequest, SearchResponse, generate_response,
};
use futures::{future::BoxFuture, stream::BoxStream};

/// The reply of a unary call, or why there is none.
pub(super) type Answer<'a, T> = BoxFuture<'a, Result<T, Failure>>;

/// The five services. Each call ends by its deadline; dropping its future ends it at once (R12).
pub trait Services: Send + Sync {
    /// `RetrieverService.Retrieve`
    fn retrieve(&self, request: RetrieveRequest, deadline: Deadline) -> Answer<'_, RetrieveResponse>;
    /// `GraderService.GradeDocuments`
    fn grade_documents(&self, request: GradeDocumentsRequest, deadline: Deadline)
    -> Answer<'_, GradeDocumentsResponse>;
    /// `GraderService.GradeGroundedness`
    fn grade_groundedness(
        &self,
        request: GradeGroundednessRequest,
        deadline: Deadline,
    ) -> Answer<'_, GradeGroundednessResponse>;
    /// `GraderService.GradeUsefulness`
    fn grade_usefulness(
        &self,
        request: GradeUsefulnessRequest,
        deadline: Deadline,
    ) -> Answer<'_, GradeUsefulnessResponse>;
    /// `GraderService.DecideRetrieval`
    fn decide_retrieval(
        &self,
        request: DecideRetrievalRequest,
        deadline: Deadline,
    ) -> Answer<'_, DecideRetrievalResponse>;
    /// `GraderService.RefineKnowledge`
    fn refine_knowledge(
        &self,
        request: RefineKnowledgeRequest,
        deadline: Deadline,
    ) -> Answer<'_, RefineKnowledgeResponse>;
    /// `GeneratorService.Generate`
    fn generate(
        &self,
        request: GenerateRequest,
        deadline: Deadline,
    ) -> BoxStream<'_, Result<generate_response::Event, Failure>>;
    /// `RewriterService.Rewrite`
    fn rewrite(&self, request: RewriteRequest, deadline: Deadline) -> Answer<'_, RewriteResponse>;
    /// `WebSearchService.Search`
    fn search(&self, request: SearchRequest, deadline: Deadline) -> Answer<'_, SearchResponse>;
}

/// One of the five services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dependency {
    /// Finds passages.
    Retriever,
    /// Grades passages and answers.
    Grader,
    /// Writes answers.
    Generator,
    /// Rewrites queries.
    Rewriter,
    /// Searches the web.
    WebSearch,
}

impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dependency::Retriever => "retriever",
            Dependency::Grader => "grader",
            Dependency::Generator => "generator",
            Dependency::Rewriter => "rewriter",
            Dependency::WebSearch => "web search",
        })
    }
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{dependency}: {message}")]
pub struct Failure {
    /// The service that was called.
    pub dependency: Dependency,
    /// What kind of failure it is.
    pub code: Code,
    /// The message of the service, or why there is no reply.
    pub message: String,
    /// The fields that the service rejects; empty unless it rejected the request.
    pub violations: Vec<FieldViolation>,
}

impl Failure {
    /// A failure without violations.
    pub fn new(dependency: Dependency, code: Code, message: impl Into<String>) -> Failure {
        Failure {
            dependency,
            code,
            message: message.into(),
            violations: Vec::new(),
        }
    }
}

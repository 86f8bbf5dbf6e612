//! The five services as a walk sees them.

use std::fmt;

use emend_core::{Code, Deadline, FieldViolation, Reason, Resource};
use emend_proto::v1::{
    DecideRetrievalRequest, DecideRetrievalResponse, GenerateRequest, GradeDocumentsRequest, GradeDocumentsResponse,
    GradeGroundednessRequest, GradeGroundednessResponse, GradeUsefulnessRequest, GradeUsefulnessResponse,
    RefineKnowledgeRequest, RefineKnowledgeResponse, RetrieveRequest, RetrieveResponse, RewriteRequest,
    RewriteResponse, SearchRequest, SearchResponse, Usage, generate_response,
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
    /// Why it failed, as the service says.
    pub reason: Reason,
    /// What the reason is about, as the service says.
    pub resource: Option<Resource>,
    /// The message of the service, or why there is no reply.
    pub message: String,
    /// The fields that the service rejects; empty unless it rejected the request.
    pub violations: Vec<FieldViolation>,
    /// What the model calls cost that the service made before it failed.
    pub usage: Usage,
}

impl Failure {
    /// A failure of which no more is known than its code.
    pub fn new(dependency: Dependency, code: Code, message: impl Into<String>) -> Failure {
        Failure {
            dependency,
            code,
            reason: Reason::of_code(code),
            resource: None,
            message: message.into(),
            violations: Vec::new(),
            usage: Usage::default(),
        }
    }

    /// Whether the service refused what the question or its options say: the collection is unknown, the filter or an
    /// option is wrong. Then the walk as a whole is refused, since no other service makes up for that (R17).
    pub(super) fn is_refusal(&self) -> bool {
        match (self.dependency, self.code) {
            (Dependency::Retriever, Code::InvalidArgument | Code::NotFound | Code::FailedPrecondition) => true,
            // What others reject can also be of the walk's own making, a passage for instance.
            (_, Code::InvalidArgument) => {
                let mut rejected = self.violations.iter();
                !self.violations.is_empty() && rejected.all(|violation| is_asked(&violation.field))
            }
            _ => false,
        }
    }
}

/// The fields of requests that have what the options of a graph say.
const SETTINGS: [&str; 9] = [
    "lower_threshold",
    "max_results",
    "max_sentences",
    "max_strips",
    "max_tokens",
    "temperature",
    "threshold",
    "top_k",
    "upper_threshold",
];

/// Whether a field of a request has what the caller asked for, as it stands in its question or options.
fn is_asked(field: &str) -> bool {
    matches!(base(field), "question" | "history") || SETTINGS.contains(&base(field))
}

/// Where the caller finds what a field of a request has.
pub(super) fn place_in_question(field: &str) -> String {
    match base(field) {
        "query" | "question" => "question.question".to_owned(),
        "mode" => "question.search".to_owned(),
        setting if SETTINGS.contains(&setting) => "question.options".to_owned(),
        _ => format!("question.{field}"),
    }
}

/// The name of a field without the places in it: `filter` of `filter[lang]`.
fn base(field: &str) -> &str {
    field.split(['[', '.']).next().unwrap_or(field)
}

#[cfg(test)]
mod tests;

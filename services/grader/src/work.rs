//! The work of the grader's actors. Requests are valid, except that the number of strips is only
//! known after cutting.

use std::sync::Arc;

use emend_chassis::Work;
use emend_core::Scope;
use emend_proto::v1;

use crate::backend::Backend;
use crate::error::GradeError;
use crate::{documents, groundedness, refine, retrieval_decision, usefulness};

/// What all work of the grader needs.
pub(crate) struct Grader(pub(crate) Arc<dyn Backend>);

/// Grades passages.
impl Work<Grader> for v1::GradeDocumentsRequest {
    type Reply = v1::GradeDocumentsResponse;
    type Error = GradeError;
    const NAME: &'static str = "grade_documents";

    async fn run(self, grader: &Grader, scope: &Scope) -> Result<Self::Reply, GradeError> {
        documents::grade(&*grader.0, self, scope).await
    }
}

/// Grades an answer's sentences against evidence.
impl Work<Grader> for v1::GradeGroundednessRequest {
    type Reply = v1::GradeGroundednessResponse;
    type Error = GradeError;
    const NAME: &'static str = "grade_groundedness";

    async fn run(self, grader: &Grader, scope: &Scope) -> Result<Self::Reply, GradeError> {
        groundedness::grade(&*grader.0, self, scope).await
    }
}

/// Grades an answer against its question.
impl Work<Grader> for v1::GradeUsefulnessRequest {
    type Reply = v1::GradeUsefulnessResponse;
    type Error = GradeError;
    const NAME: &'static str = "grade_usefulness";

    async fn run(self, grader: &Grader, scope: &Scope) -> Result<Self::Reply, GradeError> {
        usefulness::grade(&*grader.0, self, scope).await
    }
}

/// Decides whether an answer needs evidence.
impl Work<Grader> for v1::DecideRetrievalRequest {
    type Reply = v1::DecideRetrievalResponse;
    type Error = GradeError;
    const NAME: &'static str = "decide_retrieval";

    async fn run(self, grader: &Grader, scope: &Scope) -> Result<Self::Reply, GradeError> {
        retrieval_decision::decide(&*grader.0, self, scope).await
    }
}

/// Cuts passages into strips and keeps the best.
impl Work<Grader> for v1::RefineKnowledgeRequest {
    type Reply = v1::RefineKnowledgeResponse;
    type Error = GradeError;
    const NAME: &'static str = "refine_knowledge";

    async fn run(self, grader: &Grader, scope: &Scope) -> Result<Self::Reply, GradeError> {
        refine::refine(&*grader.0, self, scope).await
    }
}

//! The tasks of the grader's actor.

use emend_chassis::Task;
use emend_proto::v1;

use crate::error::GradeError;

/// Grade passages. The request is valid.
pub(crate) struct GradeDocuments(pub(crate) v1::GradeDocumentsRequest);

impl Task for GradeDocuments {
    type Reply = v1::GradeDocumentsResponse;
    type Error = GradeError;
    const NAME: &'static str = "grade_documents";
}

/// Grade an answer's sentences against evidence. The request is valid.
pub(crate) struct GradeGroundedness(pub(crate) v1::GradeGroundednessRequest);

impl Task for GradeGroundedness {
    type Reply = v1::GradeGroundednessResponse;
    type Error = GradeError;
    const NAME: &'static str = "grade_groundedness";
}

/// Grade an answer against its question. The request is valid.
pub(crate) struct GradeUsefulness(pub(crate) v1::GradeUsefulnessRequest);

impl Task for GradeUsefulness {
    type Reply = v1::GradeUsefulnessResponse;
    type Error = GradeError;
    const NAME: &'static str = "grade_usefulness";
}

/// Decide whether an answer needs evidence. The request is valid.
pub(crate) struct DecideRetrieval(pub(crate) v1::DecideRetrievalRequest);

impl Task for DecideRetrieval {
    type Reply = v1::DecideRetrievalResponse;
    type Error = GradeError;
    const NAME: &'static str = "decide_retrieval";
}

/// Cut passages into strips and keep the best. The request is valid but for the number of strips it makes.
pub(crate) struct RefineKnowledge(pub(crate) v1::RefineKnowledgeRequest);

impl Task for RefineKnowledge {
    type Reply = v1::RefineKnowledgeResponse;
    type Error = GradeError;
    const NAME: &'static str = "refine_knowledge";
}

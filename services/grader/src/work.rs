//! The work of the grader's actors. Requests are valid, except that the number of strips is only
//! known after cutting.

use std::sync::Arc;

use emend_chassis::{Work, metrics};
use emend_core::{Scope, semconv};
use emend_proto::v1;
use opentelemetry::KeyValue;
use opentelemetry::metrics::Counter;

use crate::backend::Backend;
use crate::error::GradeError;
use crate::{documents, groundedness, refine, retrieval_decision, usefulness};

/// What all work of the grader needs.
pub(crate) struct Grader {
    backend: Arc<dyn Backend>,
    grades: Counter<u64>,
}

impl Grader {
    /// Must be called after telemetry is initialized; its counter is a no-op otherwise.
    pub(crate) fn new(backend: Arc<dyn Backend>) -> Self {
        let grades = metrics::meter()
            .u64_counter(semconv::EMEND_GRADES)
            .with_unit("{grade}")
            .build();
        Self { backend, grades }
    }

    /// Counts a grade by the name of its enum's value, without its prefix and in lower case.
    fn count(&self, name: &'static str, label: &str, prefix: &str) {
        let label = label.strip_prefix(prefix).unwrap_or(label).to_lowercase();
        let labels = [
            KeyValue::new(semconv::GEN_AI_EVALUATION_NAME, name),
            KeyValue::new(semconv::GEN_AI_EVALUATION_SCORE_LABEL, label),
        ];
        self.grades.add(1, &labels);
    }
}

/// Grades passages.
impl Work<Grader> for v1::GradeDocumentsRequest {
    type Reply = v1::GradeDocumentsResponse;
    type Error = GradeError;
    const NAME: &'static str = "grade_documents";

    async fn run(self, grader: &Grader, scope: &Scope) -> Result<Self::Reply, GradeError> {
        let graded = documents::grade(&*grader.backend, self, scope).await?;
        for grade in &graded.grades {
            grader.count("relevance", grade.relevance().as_str_name(), "RELEVANCE_");
        }
        grader.count("evaluation", graded.evaluation().as_str_name(), "EVALUATION_");
        Ok(graded)
    }
}

/// Grades an answer's sentences against evidence.
impl Work<Grader> for v1::GradeGroundednessRequest {
    type Reply = v1::GradeGroundednessResponse;
    type Error = GradeError;
    const NAME: &'static str = "grade_groundedness";

    async fn run(self, grader: &Grader, scope: &Scope) -> Result<Self::Reply, GradeError> {
        let graded = groundedness::grade(&*grader.backend, self, scope).await?;
        grader.count("groundedness", graded.support().as_str_name(), "SUPPORT_");
        Ok(graded)
    }
}

/// Grades an answer against its question.
impl Work<Grader> for v1::GradeUsefulnessRequest {
    type Reply = v1::GradeUsefulnessResponse;
    type Error = GradeError;
    const NAME: &'static str = "grade_usefulness";

    async fn run(self, grader: &Grader, scope: &Scope) -> Result<Self::Reply, GradeError> {
        let graded = usefulness::grade(&*grader.backend, self, scope).await?;
        let label = match graded.useful {
            Some(true) => "useful",
            Some(false) => "not_useful",
            None => "ungraded",
        };
        grader.count("usefulness", label, "");
        Ok(graded)
    }
}

/// Decides whether an answer needs evidence.
impl Work<Grader> for v1::DecideRetrievalRequest {
    type Reply = v1::DecideRetrievalResponse;
    type Error = GradeError;
    const NAME: &'static str = "decide_retrieval";

    async fn run(self, grader: &Grader, scope: &Scope) -> Result<Self::Reply, GradeError> {
        let decided = retrieval_decision::decide(&*grader.backend, self, scope).await?;
        grader.count("retrieval", decided.decision().as_str_name(), "RETRIEVAL_DECISION_");
        Ok(decided)
    }
}

/// Cuts passages into strips and keeps the best.
impl Work<Grader> for v1::RefineKnowledgeRequest {
    type Reply = v1::RefineKnowledgeResponse;
    type Error = GradeError;
    const NAME: &'static str = "refine_knowledge";

    async fn run(self, grader: &Grader, scope: &Scope) -> Result<Self::Reply, GradeError> {
        refine::refine(&*grader.backend, self, scope).await
    }
}

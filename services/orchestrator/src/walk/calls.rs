//! The calls of a step, and those of them that failed.

use std::sync::{Mutex, PoisonError};

use emend_core::Deadline;
use emend_proto::v1::{
    DecideRetrievalRequest, DecideRetrievalResponse, GenerateRequest, GradeDocumentsRequest, GradeDocumentsResponse,
    GradeGroundednessRequest, GradeGroundednessResponse, GradeUsefulnessRequest, GradeUsefulnessResponse,
    RefineKnowledgeRequest, RefineKnowledgeResponse, RetrieveRequest, RetrieveResponse, RewriteRequest,
    RewriteResponse, SearchRequest, SearchResponse, generate_response::Event,
};
use futures::{FutureExt as _, StreamExt as _, TryFutureExt as _, stream::BoxStream};

use super::services::{Answer, Failure, Services};

/// The five services, with a note of every failure. Actions decide on an outcome; what a failure means for the walk as a
/// whole (a refusal, what it cost, what the result has to say of it) is decided in one place, whichever action it was.
pub(super) struct Calls<'a> {
    services: &'a dyn Services,
    failures: Mutex<Vec<Failure>>,
}

impl<'a> Calls<'a> {
    pub(super) fn new(services: &'a dyn Services) -> Calls<'a> {
        Calls {
            services,
            failures: Mutex::default(),
        }
    }

    /// The failures since the last time, in the order in which they came.
    pub(super) fn take_failures(&self) -> Vec<Failure> {
        std::mem::take(&mut *self.failures.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, failure: &Failure) {
        self.failures
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(failure.clone());
    }
}

macro_rules! noted {
    ($($call:ident: $request:ty => $response:ty;)+) => {
        $(
            fn $call(&self, request: $request, deadline: Deadline) -> Answer<'_, $response> {
                self.services.$call(request, deadline).inspect_err(|failure| self.note(failure)).boxed()
            }
        )+
    };
}

impl Services for Calls<'_> {
    noted! {
        retrieve: RetrieveRequest => RetrieveResponse;
        grade_documents: GradeDocumentsRequest => GradeDocumentsResponse;
        grade_groundedness: GradeGroundednessRequest => GradeGroundednessResponse;
        grade_usefulness: GradeUsefulnessRequest => GradeUsefulnessResponse;
        decide_retrieval: DecideRetrievalRequest => DecideRetrievalResponse;
        refine_knowledge: RefineKnowledgeRequest => RefineKnowledgeResponse;
        rewrite: RewriteRequest => RewriteResponse;
        search: SearchRequest => SearchResponse;
    }

    fn generate(&self, request: GenerateRequest, deadline: Deadline) -> BoxStream<'_, Result<Event, Failure>> {
        self.services
            .generate(request, deadline)
            .inspect(|event| {
                if let Err(failure) = event {
                    self.note(failure);
                }
            })
            .boxed()
    }
}

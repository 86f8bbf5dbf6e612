//! The calls of a step, and those of them that failed.

use std::sync::{Mutex, PoisonError};

use emend_core::Deadline;
use emend_proto::v1::{
    DecideRetrievalRequest, DecideRetrievalResponse, GenerateRequest, GradeDocumentsRequest, GradeDocumentsResponse,
    GradeGroundednessRequest, GradeGroundednessResponse, GradeUsefulnessRequest, GradeUsefulnessResponse,
    RefineKnowledgeRequest, RefineKnowledgeResponse, RetrieveRequest, RetrieveResponse, RewriteRequest,
    RewriteResponse, SearchRequest, SearchResponse, WalkRecord, generate_response::Event,
};
use futures::{FutureExt as _, StreamExt as _, stream::BoxStream};
use tokio::time::Instant;

use super::{
    record::{Asked, Recordable, Recorder},
    services::{Answer, Failure, Services},
};

/// The five services, with a note of every failure. Actions decide on an outcome; what a failure means for the walk as a
/// whole (a refusal, what it cost, what the result has to say of it) is decided in one place, whichever action it was.
pub(super) struct Calls<'a> {
    services: &'a dyn Services,
    failures: Mutex<Vec<Failure>>,
    /// Set where the walk is to be recorded.
    recorder: Option<Recorder>,
}

impl<'a> Calls<'a> {
    pub(super) fn new(services: &'a dyn Services, recorder: Option<Recorder>) -> Calls<'a> {
        Calls {
            services,
            failures: Mutex::default(),
            recorder,
        }
    }

    /// The failures since the last time, in the order in which they came.
    pub(super) fn take_failures(&self) -> Vec<Failure> {
        std::mem::take(&mut *self.failures.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Says which step makes the next calls.
    pub(super) fn step(&self, number: u32) {
        self.recorder.iter().for_each(|recorder| recorder.step(number));
    }

    /// The record of all calls, if there is to be one.
    pub(super) fn record(&self) -> Option<WalkRecord> {
        self.recorder.as_ref().map(Recorder::record)
    }

    fn begin<R: Recordable>(&self, request: &R) -> Begun<'_> {
        Begun {
            calls: self,
            asked: self.recorder.is_some().then(|| Asked::of(request)),
            at: Instant::now(),
        }
    }
}

/// A call that is being made.
struct Begun<'a> {
    calls: &'a Calls<'a>,
    /// Set where it is to be recorded.
    asked: Option<Asked>,
    at: Instant,
}

impl Begun<'_> {
    fn end<R: Recordable>(&mut self, reply: Result<&R::Reply, &Failure>) {
        if let Err(failure) = reply {
            let mut failures = self.calls.failures.lock().unwrap_or_else(PoisonError::into_inner);
            failures.push(failure.clone());
        }
        if let Some((recorder, asked)) = self.calls.recorder.as_ref().zip(self.asked.take()) {
            recorder.ended::<R>(asked, reply, self.at);
        }
    }
}

macro_rules! noted {
    ($($call:ident: $request:ty => $response:ty;)+) => {
        $(
            fn $call(&self, request: $request, deadline: Deadline) -> Answer<'_, $response> {
                let mut begun = self.begin(&request);
                self.services
                    .$call(request, deadline)
                    .inspect(move |reply| begun.end::<$request>(reply.as_ref()))
                    .boxed()
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
        let mut begun = self.begin(&request);
        self.services
            .generate(request, deadline)
            .inspect(move |event| match event {
                Ok(Event::TextDelta(_)) => {}
                Ok(Event::Finished(finished)) => begun.end::<GenerateRequest>(Ok(finished)),
                Err(failure) => begun.end::<GenerateRequest>(Err(failure)),
            })
            .boxed()
    }
}

//! Scripted doubles of the five services, which record the requests they receive.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use emend_core::{Code, Deadline};
use emend_proto::v1::{
    DecideRetrievalRequest, DecideRetrievalResponse, DocumentGrade, FinishReason, GenerateFinished, GenerateRequest,
    GradeDocumentsRequest, GradeDocumentsResponse, GradeGroundednessRequest, GradeGroundednessResponse,
    GradeUsefulnessRequest, GradeUsefulnessResponse, Passage, RefineKnowledgeRequest, RefineKnowledgeResponse,
    Relevance, RetrievalDecision, RetrieveRequest, RetrieveResponse, RewriteRequest, RewriteResponse, SearchRequest,
    SearchResponse, Sentence, Span, Strip, Support, Usage, generate_response::Event,
};
use futures::{FutureExt as _, StreamExt as _, stream, stream::BoxStream};

use super::services::{Answer, Dependency, Failure, Services};

type Script<Q, A> = Box<dyn Fn(&Q) -> Result<A, Failure> + Send + Sync>;

/// The recorded requests, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Call {
    Retrieve(RetrieveRequest),
    GradeDocuments(GradeDocumentsRequest),
    GradeGroundedness(GradeGroundednessRequest),
    GradeUsefulness(GradeUsefulnessRequest),
    DecideRetrieval(DecideRetrievalRequest),
    RefineKnowledge(RefineKnowledgeRequest),
    Generate(GenerateRequest),
    Rewrite(RewriteRequest),
    Search(SearchRequest),
}

fn nth(write: impl Fn(u32) -> GenerateFinished + Send + Sync + 'static) -> Script<GenerateRequest, GenerateFinished> {
    let calls = AtomicU32::new(0);
    Box::new(move |_| Ok(write(calls.fetch_add(1, Ordering::Relaxed) + 1)))
}

/// The scripted services. By default every call succeeds with a good result.
pub(crate) struct Scripted {
    retrieve: Script<RetrieveRequest, RetrieveResponse>,
    grade_documents: Script<GradeDocumentsRequest, GradeDocumentsResponse>,
    grade_groundedness: Script<GradeGroundednessRequest, GradeGroundednessResponse>,
    grade_usefulness: Script<GradeUsefulnessRequest, GradeUsefulnessResponse>,
    decide_retrieval: Script<DecideRetrievalRequest, DecideRetrievalResponse>,
    refine_knowledge: Script<RefineKnowledgeRequest, RefineKnowledgeResponse>,
    generate: Script<GenerateRequest, GenerateFinished>,
    rewrite: Script<RewriteRequest, RewriteResponse>,
    search: Script<SearchRequest, SearchResponse>,
    takes: HashMap<Dependency, Duration>,
    calls: Mutex<Vec<Call>>,
    remembers: bool,
}

impl Default for Scripted {
    fn default() -> Self {
        Scripted {
            retrieve: Box::new(|request| {
                let top_k = request.top_k.unwrap_or(4);
                let passages = (1..=top_k).map(|n| passage(&format!("{}/{n}", request.query)));
                Ok(RetrieveResponse {
                    passages: passages.collect(),
                })
            }),
            grade_documents: Box::new(|request| Ok(documents_graded(request, |_| Relevance::Relevant))),
            grade_groundedness: Box::new(|request| Ok(supported(request, Support::FullySupported))),
            grade_usefulness: Box::new(|_| Ok(useful(true))),
            decide_retrieval: Box::new(|_| Ok(decided(RetrievalDecision::Yes))),
            refine_knowledge: Box::new(|request| Ok(refined(request, |_| true))),
            generate: nth(|number| answer(&format!("Answer {number}."))),
            rewrite: Box::new(|request| {
                Ok(RewriteResponse {
                    query: format!("query {}", request.failed_queries.len() + 1),
                    usage: calls(1),
                })
            }),
            search: Box::new(|request| {
                let most = request.max_results.unwrap_or(4);
                let passages = (1..=most).map(|n| passage(&format!("web/{}/{n}", request.query)));
                Ok(SearchResponse {
                    passages: passages.collect(),
                    provider: "scripted".to_owned(),
                })
            }),
            takes: HashMap::new(),
            calls: Mutex::default(),
            remembers: true,
        }
    }
}

/// One method for each service, which sets its replies.
impl Scripted {
    /// What the generator writes at its first call, its second, and so on.
    pub(crate) fn generate_nth(mut self, write: impl Fn(u32) -> GenerateFinished + Send + Sync + 'static) -> Scripted {
        self.generate = nth(write);
        self
    }
}

macro_rules! scripts {
    ($($service:ident: $request:ty => $response:ty;)+) => {
        impl Scripted {
            $(
                pub(crate) fn $service(
                    mut self,
                    script: impl Fn(&$request) -> Result<$response, Failure> + Send + Sync + 'static,
                ) -> Scripted {
                    self.$service = Box::new(script);
                    self
                }
            )+
        }
    };
}

scripts! {
    retrieve: RetrieveRequest => RetrieveResponse;
    grade_documents: GradeDocumentsRequest => GradeDocumentsResponse;
    grade_groundedness: GradeGroundednessRequest => GradeGroundednessResponse;
    grade_usefulness: GradeUsefulnessRequest => GradeUsefulnessResponse;
    decide_retrieval: DecideRetrievalRequest => DecideRetrievalResponse;
    refine_knowledge: RefineKnowledgeRequest => RefineKnowledgeResponse;
    generate: GenerateRequest => GenerateFinished;
    rewrite: RewriteRequest => RewriteResponse;
    search: SearchRequest => SearchResponse;
}

impl Scripted {
    /// How long each call of a service takes.
    pub(crate) fn takes(mut self, dependency: Dependency, time: Duration) -> Scripted {
        self.takes.insert(dependency, time);
        self
    }

    /// Turns recording off, for tests with many large requests.
    pub(crate) fn forgetful(mut self) -> Scripted {
        self.remembers = false;
        self
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// Model calls, counted as the worst case counts them: one for each passage graded.
    pub(crate) fn model_calls(&self) -> u64 {
        let cost = |call: &Call| match call {
            Call::Retrieve(_) | Call::Search(_) => 0,
            Call::GradeDocuments(request) => request.passages.len() as u64,
            Call::RefineKnowledge(request) => request.passages.len() as u64,
            _ => 1,
        };
        self.calls().iter().map(cost).sum()
    }

    fn reply<T: Send + 'static>(
        &self,
        dependency: Dependency,
        call: Call,
        reply: Result<T, Failure>,
        deadline: Deadline,
    ) -> Answer<'_, T> {
        if self.remembers {
            self.calls.lock().unwrap().push(call);
        }
        let takes = self.takes.get(&dependency).copied().unwrap_or_default();
        async move {
            let late = |_| Failure::new(dependency, Code::DeadlineExceeded, "no answer in time");
            deadline.run(tokio::time::sleep(takes)).await.map_err(late)?;
            reply
        }
        .boxed()
    }
}

impl Services for Scripted {
    fn retrieve(&self, request: RetrieveRequest, deadline: Deadline) -> Answer<'_, RetrieveResponse> {
        let reply = (self.retrieve)(&request);
        self.reply(Dependency::Retriever, Call::Retrieve(request), reply, deadline)
    }

    fn grade_documents(
        &self,
        request: GradeDocumentsRequest,
        deadline: Deadline,
    ) -> Answer<'_, GradeDocumentsResponse> {
        let reply = (self.grade_documents)(&request);
        self.reply(Dependency::Grader, Call::GradeDocuments(request), reply, deadline)
    }

    fn grade_groundedness(
        &self,
        request: GradeGroundednessRequest,
        deadline: Deadline,
    ) -> Answer<'_, GradeGroundednessResponse> {
        let reply = (self.grade_groundedness)(&request);
        self.reply(Dependency::Grader, Call::GradeGroundedness(request), reply, deadline)
    }

    fn grade_usefulness(
        &self,
        request: GradeUsefulnessRequest,
        deadline: Deadline,
    ) -> Answer<'_, GradeUsefulnessResponse> {
        let reply = (self.grade_usefulness)(&request);
        self.reply(Dependency::Grader, Call::GradeUsefulness(request), reply, deadline)
    }

    fn decide_retrieval(
        &self,
        request: DecideRetrievalRequest,
        deadline: Deadline,
    ) -> Answer<'_, DecideRetrievalResponse> {
        let reply = (self.decide_retrieval)(&request);
        self.reply(Dependency::Grader, Call::DecideRetrieval(request), reply, deadline)
    }

    fn refine_knowledge(
        &self,
        request: RefineKnowledgeRequest,
        deadline: Deadline,
    ) -> Answer<'_, RefineKnowledgeResponse> {
        let reply = (self.refine_knowledge)(&request);
        self.reply(Dependency::Grader, Call::RefineKnowledge(request), reply, deadline)
    }

    fn generate(&self, request: GenerateRequest, deadline: Deadline) -> BoxStream<'_, Result<Event, Failure>> {
        let reply = (self.generate)(&request);
        let written = self.reply(Dependency::Generator, Call::Generate(request), reply, deadline);
        stream::once(written)
            .flat_map(|written| {
                stream::iter(match written {
                    // Two deltas, so that text that arrives in pieces is joined again.
                    Ok(finished) => {
                        let half = finished.answer.chars().count() / 2;
                        let first: String = finished.answer.chars().take(half).collect();
                        let rest: String = finished.answer.chars().skip(half).collect();
                        vec![
                            Ok(Event::TextDelta(first)),
                            Ok(Event::TextDelta(rest)),
                            Ok(Event::Finished(finished)),
                        ]
                    }
                    Err(failure) => vec![Err(failure)],
                })
            })
            .boxed()
    }

    fn rewrite(&self, request: RewriteRequest, deadline: Deadline) -> Answer<'_, RewriteResponse> {
        let reply = (self.rewrite)(&request);
        self.reply(Dependency::Rewriter, Call::Rewrite(request), reply, deadline)
    }

    fn search(&self, request: SearchRequest, deadline: Deadline) -> Answer<'_, SearchResponse> {
        let reply = (self.search)(&request);
        self.reply(Dependency::WebSearch, Call::Search(request), reply, deadline)
    }
}

pub(crate) fn passage(id: &str) -> Passage {
    Passage {
        id: id.to_owned(),
        document_id: "harbour.md".to_owned(),
        text: format!("The harbour has a lighthouse ({id})."),
        ..Passage::default()
    }
}

pub(crate) fn calls(model_calls: u32) -> Option<Usage> {
    Some(Usage {
        model_calls,
        ..Usage::default()
    })
}

/// Grades each passage of a request by its id.
pub(crate) fn documents_graded(
    request: &GradeDocumentsRequest,
    relevance: impl Fn(&str) -> Relevance,
) -> GradeDocumentsResponse {
    let grade = |passage: &Passage| DocumentGrade {
        passage_id: passage.id.clone(),
        relevance: relevance(&passage.id).into(),
        score: Some(0.5),
        error: String::new(),
    };
    GradeDocumentsResponse {
        grades: request.passages.iter().map(grade).collect(),
        usage: calls(u32::try_from(request.passages.len()).unwrap()),
        ..GradeDocumentsResponse::default()
    }
}

/// Grades every sentence of an answer alike.
pub(crate) fn supported(request: &GradeGroundednessRequest, support: Support) -> GradeGroundednessResponse {
    let mut sentences = request.sentences.clone();
    for sentence in &mut sentences {
        sentence.set_support(support);
    }
    GradeGroundednessResponse {
        support: support.into(),
        score: Some(if support == Support::NotSupported { 0.1 } else { 0.9 }),
        sentences,
        usage: calls(1),
        ..GradeGroundednessResponse::default()
    }
}

/// A decision of which it is certain.
pub(crate) fn decided(decision: RetrievalDecision) -> DecideRetrievalResponse {
    DecideRetrievalResponse {
        decision: decision.into(),
        probability: Some(if decision == RetrievalDecision::Yes { 0.9 } else { 0.1 }),
        usage: calls(1),
        ..DecideRetrievalResponse::default()
    }
}

/// Each passage as one strip, kept or not by its id.
pub(crate) fn refined(request: &RefineKnowledgeRequest, keeps: impl Fn(&str) -> bool) -> RefineKnowledgeResponse {
    let strip = |passage: &Passage| Strip {
        passage_id: passage.id.clone(),
        text: passage.text.clone(),
        span: Some(Span {
            start: 0,
            end: u32::try_from(passage.text.chars().count()).unwrap(),
        }),
        score: Some(if keeps(&passage.id) { 0.9 } else { 0.1 }),
        kept: keeps(&passage.id),
        error: String::new(),
    };
    RefineKnowledgeResponse {
        strips: request.passages.iter().map(strip).collect(),
        usage: calls(u32::try_from(request.passages.len()).unwrap()),
    }
}

pub(crate) fn useful(useful: bool) -> GradeUsefulnessResponse {
    GradeUsefulnessResponse {
        utility: Some(if useful { 5 } else { 1 }),
        expected_utility: Some(if useful { 5.0 } else { 1.0 }),
        score: Some(if useful { 0.9 } else { 0.1 }),
        useful: Some(useful),
        usage: calls(1),
        ..GradeUsefulnessResponse::default()
    }
}

/// An answer of one sentence.
pub(crate) fn answer(text: &str) -> GenerateFinished {
    let end = u32::try_from(text.chars().count()).unwrap();
    GenerateFinished {
        answer: text.to_owned(),
        sentences: vec![Sentence {
            text: text.to_owned(),
            span: Some(Span { start: 0, end }),
            ..Sentence::default()
        }],
        finish_reason: FinishReason::Stop.into(),
        usage: calls(1),
        abstained: false,
        model: "scripted".to_owned(),
        likelihood: None,
    }
}

/// The words of the generator's abstention.
pub(crate) fn abstained() -> GenerateFinished {
    GenerateFinished {
        abstained: true,
        ..answer("The passages do not say.")
    }
}

pub(crate) fn down<T>(dependency: Dependency) -> Result<T, Failure> {
    Err(Failure::new(dependency, Code::Unavailable, "connection refused"))
}

//! The five services of a replay: every reply comes from the record of a walk.
//!
//! Where the record has no reply to a call, the call never ends; [`RecordedServices::end`] then says which it is.

mod calls;
mod thresholds;

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use emend_core::{Code, Deadline};
use emend_proto::v1::{
    self, DecideRetrievalRequest, DecideRetrievalResponse, GenerateRequest, GradeDocumentsRequest,
    GradeDocumentsResponse, GradeGroundednessRequest, GradeGroundednessResponse, GradeThresholds,
    GradeUsefulnessRequest, GradeUsefulnessResponse, Passage, RecordedCall, RefineKnowledgeRequest,
    RefineKnowledgeResponse, RetrieveRequest, RetrieveResponse, RewriteRequest, RewriteResponse, SearchRequest,
    SearchResponse, Strip, WalkRecord, generate_response::Event, recorded_call::Reply,
};
use futures::{
    FutureExt as _, StreamExt as _,
    future::{pending, ready},
    stream::{self, BoxStream},
};
use tokio::sync::Notify;

use calls::Calls;

use super::{
    record::{Asked, Recordable, name},
    services::{Answer, Dependency, Failure, Services},
};

/// A call that the record has no reply to.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    /// Its method.
    pub(crate) method: &'static str,
    /// What is missing, one line.
    pub(crate) what: String,
}

/// What the record says to a call: what the service replied, or that it did not, or nothing.
type Said<T> = Result<Result<T, Failure>, String>;

/// The services of a replay.
#[derive(Debug)]
pub(crate) struct RecordedServices {
    passages: HashMap<String, Passage>,
    calls: Calls,
    cut: bool,
    thresholds: GradeThresholds,
    /// Whether an evaluation of passages is read.
    evaluates: bool,
    /// How often calls were made again, by the place of the first recorded one of their kind.
    taken: Mutex<HashMap<usize, usize>>,
    missing: Mutex<Option<Missing>>,
    ended: Notify,
}

impl RecordedServices {
    /// Services that reply from a record. Its probabilities are held against these thresholds; `evaluates` is whether the
    /// graph evaluates passages together.
    pub(crate) fn new(record: WalkRecord, thresholds: GradeThresholds, evaluates: bool) -> Self {
        let passages = record.passages.into_iter();
        Self {
            passages: passages.map(|passage| (name(&passage), passage)).collect(),
            calls: Calls::new(record.calls),
            cut: record.cut,
            thresholds,
            evaluates,
            taken: Mutex::default(),
            missing: Mutex::default(),
            ended: Notify::new(),
        }
    }

    /// How many calls of the record were looked at so far.
    #[cfg(test)]
    pub(crate) fn looked_at(&self) -> usize {
        self.calls.looked_at()
    }

    /// Waits for a call that the record has no reply to.
    pub(crate) async fn end(&self) -> Missing {
        loop {
            let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(missing) = missing {
                return missing;
            }
            self.ended.notified().await;
        }
    }

    fn answer<R: Recordable>(&self, said: Said<R::Reply>) -> Answer<'_, R::Reply>
    where
        R::Reply: Send + 'static,
    {
        match said {
            Ok(reply) => ready(reply).boxed(),
            Err(mut what) => {
                if self.cut {
                    what.push_str("; the record was cut at its largest size");
                }
                let missing = Missing {
                    method: R::METHOD,
                    what,
                };
                let mut first = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(missing);
                drop(first);
                self.ended.notify_one();
                pending().boxed()
            }
        }
    }

    /// How often a call of which this is the first recorded one was made before; once more now.
    fn taken(&self, first: Option<&usize>) -> usize {
        let Some(place) = first else { return 0 };
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let times = taken.entry(*place).or_default();
        *times += 1;
        *times - 1
    }

    /// The same call with the same passages. Where it was made more than once, each replay takes the next reply.
    fn same(&self, asked: &Asked) -> Option<&RecordedCall> {
        let same = self.calls.same(asked);
        let times = self.taken(same.first());
        same.get(times).or(same.last()).and_then(|place| self.calls.at(*place))
    }

    /// Passages by how many are asked for: those of the next call that asked for enough, or that found all there are.
    fn found<R: Recordable>(&self, request: &R) -> Said<Vec<Passage>> {
        let asked = Asked::of(request);
        let most = asked.most as usize;
        let alike = self.calls.alike(&asked);
        let next = self.taken(alike.first()).min(alike.len().saturating_sub(1));
        let (before, after) = alike.split_at(next);
        let mut fewer = None;
        for call in after.iter().chain(before).filter_map(|place| self.calls.at(*place)) {
            if let Some(Reply::Failure(failure)) = &call.reply {
                return Ok(Err(failed(R::METHOD, failure)));
            }
            if call.most < asked.most && call.passages.len() >= call.most as usize {
                fewer = Some(call.most);
                continue;
            }
            let found = call.passages.iter().take(most);
            let found: Option<Vec<Passage>> = found.map(|name| self.passages.get(name).cloned()).collect();
            return found.map(Ok).ok_or_else(|| "the record lacks a passage".to_owned());
        }
        Err(match fewer {
            Some(fewer) => format!("asks for {most} passages, and the record has those of a call for {fewer}"),
            None => "this query was not searched when the walk was recorded".to_owned(),
        })
    }

    /// The reply of the same call.
    fn reply<R: Recordable, T>(&self, request: &R, of: impl Fn(&Reply) -> Option<T>, what: &str) -> Said<T> {
        let asked = Asked::of(request);
        match self.same(&asked).and_then(|call| call.reply.as_ref()) {
            Some(Reply::Failure(failure)) => Ok(Err(failed(R::METHOD, failure))),
            Some(reply) => of(reply)
                .map(Ok)
                .ok_or_else(|| format!("the record has another reply than {what}")),
            None => Err(format!("the record has no {what}")),
        }
    }

    fn grades(&self, request: &GradeDocumentsRequest) -> Said<GradeDocumentsResponse> {
        let asked = Asked::of(request);
        let same = self.same(&asked);
        if let Some(Reply::Failure(failure)) = same.and_then(|call| call.reply.as_ref()) {
            return Ok(Err(failed(asked.method, failure)));
        }
        let whole = same.and_then(|call| match &call.reply {
            Some(Reply::Grades(grades)) => Some(grades),
            _ => None,
        });
        let relevant = request.relevance_threshold.or(self.thresholds.relevant);
        let mut grades = Vec::with_capacity(asked.passages.len());
        for (name, passage) in asked.passages.iter().zip(&request.passages) {
            let Some(grade) = self.calls.grade(&asked, name) else {
                return Err(format!("the record has no grade of passage `{}`", passage.id));
            };
            grades.push(thresholds::relevance(grade.clone(), relevant));
        }
        let upper = request.upper_threshold.or(self.thresholds.upper);
        let lower = request.lower_threshold.or(self.thresholds.lower);
        let recorded = whole.map(GradeDocumentsResponse::evaluation);
        let evaluation = thresholds::evaluation(&grades, upper, lower, recorded);
        if self.evaluates && evaluation.is_none() {
            return Err(
                "these passages were not evaluated together: set the thresholds of the evaluation, lower and upper"
                    .to_owned(),
            );
        }
        Ok(Ok(GradeDocumentsResponse {
            evaluation: evaluation.unwrap_or_default().into(),
            grades,
            usage: whole.and_then(|whole| whole.usage),
        }))
    }

    fn strips(&self, request: &RefineKnowledgeRequest) -> Said<RefineKnowledgeResponse> {
        let asked = Asked::of(request);
        let same = self.same(&asked);
        if let Some(Reply::Failure(failure)) = same.and_then(|call| call.reply.as_ref()) {
            return Ok(Err(failed(asked.method, failure)));
        }
        let mut strips: Vec<Strip> = Vec::new();
        for (name, passage) in asked.passages.iter().zip(&request.passages) {
            let Some(own) = self.calls.strips(&asked, name, &passage.id) else {
                return Err(format!("the record has no such strips of passage `{}`", passage.id));
            };
            strips.extend(own.into_iter().map(|strip| thresholds::with_text(strip, passage)));
        }
        let whole = match same.and_then(|call| Some((call, call.reply.as_ref()?))) {
            Some((call, Reply::Strips(reply))) => Some((call.most, reply.usage)),
            _ => None,
        };
        let threshold = request.threshold.or(self.thresholds.strip);
        thresholds::keep(&mut strips, threshold, asked.most, whole.map(|(most, _)| most))?;
        Ok(Ok(RefineKnowledgeResponse {
            strips,
            usage: whole.and_then(|(_, usage)| usage),
        }))
    }

    fn decision(&self, request: &DecideRetrievalRequest) -> Said<DecideRetrievalResponse> {
        let decision = |reply: &Reply| match reply {
            Reply::Decision(decision) => Some(decision.clone()),
            _ => None,
        };
        Ok(
            match self.reply(request, decision, "decision at this place of the answer")? {
                Ok(decision) => Ok(thresholds::decision(
                    decision,
                    request.threshold,
                    !request.passages.is_empty(),
                )?),
                Err(failure) => Err(failure),
            },
        )
    }

    fn groundedness(&self, request: &GradeGroundednessRequest) -> Said<GradeGroundednessResponse> {
        let grade = |reply: &Reply| match reply {
            Reply::Groundedness(grade) => Some(thresholds::support(grade.clone(), &self.thresholds)),
            _ => None,
        };
        self.reply(request, grade, "grade of this answer's groundedness in these passages")
    }

    fn usefulness(&self, request: &GradeUsefulnessRequest) -> Said<GradeUsefulnessResponse> {
        let grade = |reply: &Reply| match reply {
            Reply::Usefulness(grade) => Some(thresholds::usefulness(grade.clone(), request, &self.thresholds)),
            _ => None,
        };
        self.reply(request, grade, "grade of this answer's usefulness")
    }
}

/// A failure as the walk saw it.
fn failed(method: &str, failure: &v1::Failure) -> Failure {
    let dependency = match method {
        RetrieveRequest::METHOD => Dependency::Retriever,
        SearchRequest::METHOD => Dependency::WebSearch,
        GenerateRequest::METHOD => Dependency::Generator,
        RewriteRequest::METHOD => Dependency::Rewriter,
        _ => Dependency::Grader,
    };
    let codes = [
        Code::InvalidArgument,
        Code::NotFound,
        Code::FailedPrecondition,
        Code::ResourceExhausted,
        Code::DeadlineExceeded,
        Code::Cancelled,
        Code::Unavailable,
        Code::Unimplemented,
    ];
    let code = codes.into_iter().find(|code| code.name() == failure.code);
    Failure::new(dependency, code.unwrap_or(Code::Internal), &failure.cause)
}

macro_rules! recorded {
    ($($call:ident: $request:ty => $response:ty, $said:expr;)+) => {
        $(
            fn $call(&self, request: $request, _: Deadline) -> Answer<'_, $response> {
                let said: fn(&Self, &$request) -> Said<$response> = $said;
                self.answer::<$request>(said(self, &request))
            }
        )+
    };
}

impl Services for RecordedServices {
    recorded! {
        retrieve: RetrieveRequest => RetrieveResponse, |record, request| {
            Ok(record.found(request)?.map(|passages| RetrieveResponse { passages }))
        };
        search: SearchRequest => SearchResponse, |record, request| {
            let provider = "record".to_owned();
            Ok(record.found(request)?.map(|passages| SearchResponse { passages, provider }))
        };
        grade_documents: GradeDocumentsRequest => GradeDocumentsResponse, Self::grades;
        grade_groundedness: GradeGroundednessRequest => GradeGroundednessResponse, Self::groundedness;
        grade_usefulness: GradeUsefulnessRequest => GradeUsefulnessResponse, Self::usefulness;
        decide_retrieval: DecideRetrievalRequest => DecideRetrievalResponse, Self::decision;
        refine_knowledge: RefineKnowledgeRequest => RefineKnowledgeResponse, Self::strips;
        rewrite: RewriteRequest => RewriteResponse, |record, request| {
            let rewritten = |reply: &Reply| match reply {
                Reply::Rewritten(rewritten) => Some(rewritten.clone()),
                _ => None,
            };
            record.reply(request, rewritten, "query made after these failed ones and from these passages")
        };
    }

    fn generate(&self, request: GenerateRequest, _: Deadline) -> BoxStream<'_, Result<Event, Failure>> {
        let generated = |reply: &Reply| match reply {
            Reply::Generated(generated) => Some(generated.clone()),
            _ => None,
        };
        let what = format!(
            "answer from these {} passages (attempt {})",
            request.passages.len(),
            request.attempt
        );
        let said = self.answer::<GenerateRequest>(self.reply(&request, generated, &what));
        stream::once(said)
            .flat_map(|said| {
                stream::iter(match said {
                    Ok(finished) => vec![
                        Ok(Event::TextDelta(finished.answer.clone())),
                        Ok(Event::Finished(finished)),
                    ],
                    Err(failure) => vec![Err(failure)],
                })
            })
            .boxed()
    }
}
